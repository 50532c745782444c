"""TFRecord files, written and read without TensorFlow, whose import takes seconds and hundreds of megabytes.

A record is its length (8 bytes, little-endian), the checksum of these bytes (4), its data, the checksum of the data
(4). A checksum is CRC-32C, rotated and shifted as TensorFlow does.
"""

import functools
import struct
from collections.abc import Iterator, Sequence
from typing import IO

from bert_cli.base import files
from bert_cli.base.checksums import masked_crc32c
from bert_cli.base.errors import InputError

_HEAD = 12  # bytes before the data of a record
_BLOCK = 1 << 22  # bytes that are read at once


@functools.lru_cache  # the records of a file have few lengths
def _head_of(length: int) -> bytes:
    data = struct.pack("<Q", length)
    return data + masked_crc32c(data)


def pack_records(records: Sequence[bytes]) -> bytes:
    """Records as a stretch of a TFRecord file."""
    parts: list[bytes] = []
    for record in records:
        parts += (_head_of(len(record)), record, masked_crc32c(record))
    return b"".join(parts)


def read_records(path: str) -> Iterator[bytes]:
    """The records of a TFRecord file (not a compressed one), one by one. InputError where it is none, or is cut short."""

    def check(data: bytes, stored: bytes, is_whole: bool) -> None:
        if masked_crc32c(data) != stored or not is_whole:
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


def _read_up_to(file: IO[bytes], size: int) -> bytes:
    """`size` bytes, or those that are left; what is not there takes no memory, whatever size a file claims."""
    blocks = []
    # A damaged length may be exabytes.
    while size and (block := file.read(min(size, _BLOCK))):
        blocks.append(block)
        size -= len(block)
    return b"".join(blocks)
