"""The table of an index file, as LevelDB has it: blocks of entries, a block that lists the blocks, and a footer."""

import struct
from collections.abc import Iterator

from bert_cli.base.checksums import masked_crc32c
from bert_cli.base.varint import read_varint

_MAGIC = 0xDB4775248B80FB57
_FOOTER, _TRAILER = 48, 5  # bytes; behind each block stand its compression (1) and checksum (4)


def table_entries(data: bytes) -> Iterator[tuple[bytes, bytes, bool]]:
    """(key, value, whether the checksum of their block is right) of all entries; ValueError for bytes that are no table."""
    if len(data) < _FOOTER or struct.unpack("<Q", data[-8:])[0] != _MAGIC:
        raise ValueError("the index is no table")
    position = len(data) - _FOOTER
    for _ in range(2):  # of the footer's two handles the second one is of the block that lists the blocks
        offset, position = varint(data, position)
        size, position = varint(data, position)
    end = 0
    for _, handle in _entries(_block(data, offset, size)):
        start, place = varint(handle, 0)
        length, _ = varint(handle, place)
        # Blocks that overlap would let a small file claim to hold an index of any size.
        if start < end:
            raise ValueError("two blocks of the index stand in one place")
        end = start + length
        block, behind = _block(data, start, length), start + length + _TRAILER
        is_sound = masked_crc32c(data[start : behind - 4]) == data[behind - 4 : behind]
        for key, value in _entries(block):
            yield key, value, is_sound


def _block(data: bytes, offset: int, size: int) -> bytes:
    if offset + size + _TRAILER > len(data):
        raise ValueError("a block stands behind the end of the index")
    if data[offset + size]:
        raise ValueError("the index is compressed, as no release of TensorFlow writes it")
    return data[offset : offset + size]


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a block; a key stands there without the bytes that it shares with the one before."""
    count = struct.unpack("<I", block[-4:])[0] if len(block) >= 4 else 0
    end = len(block) - 4 * (count + 1)
    if end < 0:
        raise ValueError("a block of the index is cut short")
    position, key = 0, b""
    while position < end:
        shared, position = varint(block, position)
        rest, position = varint(block, position)
        length, position = varint(block, position)
        if shared > len(key) or position + rest + length > end:
            raise ValueError("an entry stands behind the end of its block")
        # Keys are sorted, so each is stored without the bytes that it shares with the one before.
        key = key[:shared] + block[position : position + rest]
        position += rest + length
        yield key, block[position - length : position]


def varint(data: bytes, position: int) -> tuple[int, int]:
    """A number of an index file and where it ends; ValueError where it does not."""
    return read_varint(data, position, "a number in the index does not end")
