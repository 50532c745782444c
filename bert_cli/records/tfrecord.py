"""TFRecord files, written and read without TensorFlow, whose import takes seconds and hundreds of megabytes.

A record is its length (8 bytes, little-endian), the checksum of these bytes (4), its data, the checksum of the data
(4). A checksum is CRC-32C, rotated and shifted as TensorFlow does. It is computed for many records at once by NumPy.
"""

import functools
import struct
from collections.abc import Iterator, Sequence

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError

_POLYNOMIAL = 0x82F63B78  # CRC-32C, bits reversed
_INVERTED = 0xFFFFFFFF
_MASK_DELTA = 0xA282EAD8
_SUM_OF_NOTHING = struct.pack("<I", _MASK_DELTA)  # the stored checksum of a record without data
_HEAD = 12  # bytes before the data of a record
_BLOCK = 1 << 22  # bytes that are read at once
_LONGEST = 1 << 16  # bytes of a string whose checksum is computed in one go: the tables take 1 KiB for each of them


@functools.cache
def _byte_table() -> np.ndarray:
    """What each byte does to a checksum that takes in this byte and nothing else, uint32 [256]."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table


@functools.lru_cache(maxsize=4)
def _tables(size: int) -> tuple[np.ndarray, np.ndarray]:
    """For strings of up to `size` bytes: what a byte with k more behind it adds to the checksum, uint32 [size, 256], and
    what the start value has become after k bytes, uint32 [size + 1].
    """
    step = _byte_table()
    by_distance = np.empty((size, 256), np.uint32)
    start = np.empty(size + 1, np.uint32)
    start[0] = _INVERTED
    for distance in range(size):
        previous = by_distance[distance - 1]
        by_distance[distance] = step[previous & 0xFF] ^ (previous >> 8) if distance else step
        start[distance + 1] = step[start[distance] & 0xFF] ^ (start[distance] >> 8)
    return by_distance, start


def crc32c(strings: Sequence[bytes]) -> np.ndarray:
    """CRC-32C of each of several strings, none of which is empty, uint32 [n].

    The checksum is linear: it is the exclusive or of what each byte adds, which depends on the byte and on how many come
    behind it.
    """
    lengths = np.fromiter(map(len, strings), np.int64, len(strings))
    if lengths.max() > _LONGEST:
        return np.array([_crc32c_of_parts(string) for string in strings], np.uint32)
    ends = np.cumsum(lengths)
    by_distance, start = _tables(1 << int(lengths.max() - 1).bit_length())
    data = np.frombuffer(b"".join(strings), np.uint8)
    # distance * 256 + byte; in 32 bits, where the differences are right even if their terms overflow
    index = np.repeat(((ends - 1) << 8).astype(np.int32), lengths)
    index -= (np.arange(len(data)) << 8).astype(np.int32)
    index += data
    added = by_distance.reshape(-1).take(index)
    return np.bitwise_xor.reduceat(added, ends - lengths) ^ start[lengths] ^ np.uint32(_INVERTED)


def _crc32c_of_parts(string: bytes) -> int:
    """CRC-32C of one string of any length: what the parts before leave behind enters the first bytes of the next."""
    head = len(string) % _LONGEST or _LONGEST
    state = int(crc32c([string[:head]])[0]) ^ _INVERTED
    places = np.arange(_LONGEST - 1, -1, -1)
    for start in range(head, len(string), _LONGEST):
        by_distance, _ = _tables(_LONGEST)
        part = np.frombuffer(string, np.uint8, _LONGEST, start).copy()
        part[:4] ^= np.frombuffer(state.to_bytes(4, "little"), np.uint8)
        state = int(np.bitwise_xor.reduce(by_distance[places, part]))
    return state ^ _INVERTED


def masked_crc32c(strings: Sequence[bytes]) -> np.ndarray:
    """The checksums as TFRecord files hold them, uint32 [n]."""
    checksums = crc32c(strings)
    return ((checksums >> 15) | (checksums << 17)) + np.uint32(_MASK_DELTA)


def pack_records(records: Sequence[bytes]) -> bytes:
    """Records, none of which is empty, as a stretch of a TFRecord file."""
    if not records:
        return b""
    lengths = [struct.pack("<Q", len(record)) for record in records]
    length_sums = masked_crc32c(lengths).astype("<u4").tobytes()
    data_sums = masked_crc32c(records).astype("<u4").tobytes()
    parts = []
    for index, (length, record) in enumerate(zip(lengths, records, strict=True)):
        place = slice(4 * index, 4 * index + 4)
        parts += (length, length_sums[place], record, data_sums[place])
    return b"".join(parts)


def read_records(path: str) -> Iterator[bytes]:
    """The records of a TFRecord file (not a compressed one), one by one. InputError where it is none, or is cut short."""

    def check(data: bytes, stored: bytes, is_whole: bool) -> None:
        checksum = masked_crc32c([data]).astype("<u4").tobytes() if data else _SUM_OF_NOTHING
        if checksum != stored or not is_whole:
            raise InputError(f"{path}: record {number} is damaged, or this is no TFRecord file; make it again")

    with files.open_binary(path) as file:
        number = 0
        while head := file.read(_HEAD):
            check(head[:8], head[8:], len(head) == _HEAD)
            (length,) = struct.unpack("<Q", head[:8])
            data, stored = _read_up_to(file, length), file.read(4)
            check(data, stored, len(data) == length)
            yield data
            number += 1


def _read_up_to(file, size: int) -> bytes:
    """`size` bytes, or those that are left; what is not there takes no memory, whatever size a file claims."""
    blocks = []
    while size and (block := file.read(min(size, _BLOCK))):
        blocks.append(block)
        size -= len(block)
    return b"".join(blocks)
