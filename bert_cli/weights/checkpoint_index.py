"""The index of a TF1 checkpoint (`prefix`.index), checked before TensorFlow takes its word for how large things are.

The file is a table as LevelDB has it: blocks of entries, a block that lists the blocks, and a footer. TensorFlow reads it
with C++ that allocates what a size in it claims, and ends the process where that fails.
"""

import math
import os
import struct
from collections.abc import Callable, Iterator
from typing import Any

import google_crc32c

from bert_cli.base.checksums import mask, masked_crc32c
from bert_cli.base.files import file_size, list_directory, open_binary, read_bytes

_MAGIC = 0xDB4775248B80FB57
_FOOTER, _TRAILER = 48, 5  # bytes; behind each block stand its compression (1) and checksum (4)
# Bytes of a number of each fixed-size type, by its number in TensorFlow's DataType.
_WIDTHS = {1: 4, 2: 8, 3: 4, 4: 1, 5: 2, 6: 1, 8: 8, 9: 8, 10: 1, 14: 2, 17: 2, 18: 16, 19: 2, 22: 4, 23: 8}
_LONGEST_VARINT = 10  # bytes
_MOST_DIMENSIONS = 254  # of a TensorShape
_STRING = 7  # the DataType of texts, whose checksum is of another kind
_PIECE = 1 << 24  # bytes of a data file that are read at once


def check_index(prefix: str) -> None:
    """ValueError where an index is no table, or claims what its data files have not."""
    sizes: dict[str, int] = {}
    shards = 1
    for key, value, _ in _entries_of_index(prefix):
        if key:
            _check_entry(key.decode("utf-8", "replace"), dict(_fields(value)), prefix, shards, sizes)
        else:
            shards = dict(_fields(value)).get(1, 1)


def check_data(prefix: str, is_wanted: Callable[[str], bool] = lambda name: True) -> None:
    """As check_index; besides, ValueError where a checksum says that index or data are not what was written.

    is_wanted(name): whether the data of a variable is looked at. Raises OSError where a file cannot be read.
    """
    check_index(prefix)
    shards = 1
    places: list[tuple[int, int, int, bytes, str]] = []
    for key, value, is_sound in _entries_of_index(prefix):
        name, entry = key.decode("utf-8", "replace"), dict(_fields(value))
        if not is_sound:
            raise ValueError(f"the checksum of the index is wrong beside {name or 'its beginning'}")
        if not key:
            shards = entry.get(1, 1)
        elif is_wanted(name) and entry.get(1) != _STRING and 7 not in entry:
            places.append((entry.get(3, 0), entry.get(4, 0), entry.get(5, 0), entry.get(6, mask(0)), name))
    for shard in sorted({place[0] for place in places}):
        path = f"{prefix}.data-{shard:05d}-of-{shards:05d}"
        with open_binary(path) as file:
            for _, offset, size, checksum, name in sorted(place for place in places if place[0] == shard):
                if _checksum(file, offset, size) != checksum:
                    raise ValueError(f"the checksum of {name} in {os.path.basename(path)} is wrong")


def _checksum(file: Any, offset: int, size: int) -> bytes:
    file.seek(offset)
    found = 0
    while size > 0 and (piece := file.read(min(size, _PIECE))):
        found = google_crc32c.extend(found, piece)
        size -= len(piece)
    return mask(found)


def _entries_of_index(prefix: str) -> Iterator[tuple[bytes, bytes, bool]]:
    """Names and BundleEntryProtos, the first one a header without a name; whether the checksum of their block is right."""
    data = read_bytes(f"{prefix}.index")
    if len(data) < _FOOTER or struct.unpack("<Q", data[-8:])[0] != _MAGIC:
        raise ValueError("the index is no table")
    position = len(data) - _FOOTER
    for _ in range(2):  # of the footer's two handles the second one is of the block that lists the blocks
        offset, position = _varint(data, position)
        size, position = _varint(data, position)
    end = 0
    for _, handle in _entries(_block(data, offset, size)):
        start, place = _varint(handle, 0)
        length, _ = _varint(handle, place)
        if start < end:
            raise ValueError("two blocks of the index stand in one place")
        end = start + length
        block, behind = _block(data, start, length), start + length + _TRAILER
        is_sound = masked_crc32c(data[start : behind - 4]) == data[behind - 4 : behind]
        for key, value in _entries(block):
            yield key, value, is_sound


def _check_entry(name: str, entry: dict, prefix: str, shards: int, sizes: dict[str, int]) -> None:
    """`entry` is a BundleEntryProto by the numbers of its fields: dtype 1, shape 2, shard 3, offset 4, size 5, slices 7."""
    dimensions = [dict(_fields(value)).get(1, 0) for number, value in _fields(entry.get(2, b"")) if number == 2]
    if len(dimensions) > _MOST_DIMENSIONS or math.prod(filter(None, dimensions)) >= 1 << 63:
        raise ValueError(f"{name} has a shape that no variable can have")
    count, width, size = math.prod(dimensions), _WIDTHS.get(entry.get(1, 0)), entry.get(5, 0)
    if 7 in entry:  # a variable in parts, each of which has an entry of its own
        size = _size_of_all(prefix)
    if count * (width or 1) > size or (width and 7 not in entry and count * width < size):
        raise ValueError(f"{name} has the shape {dimensions[:9]}, but {size} bytes")
    if 7 in entry:
        return
    path = f"{prefix}.data-{entry.get(3, 0):05d}-of-{shards:05d}"
    if path not in sizes:
        sizes[path] = file_size(path)
    if entry.get(4, 0) + size > sizes[path]:
        raise ValueError(f"{name} stands behind the end of {os.path.basename(path)}")


def _size_of_all(prefix: str) -> int:
    folder, name = os.path.split(prefix)
    folder = folder or "."
    found = [each for each in list_directory(folder) if each.startswith(f"{name}.data-")]
    return sum(file_size(os.path.join(folder, each)) for each in found)


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
        shared, position = _varint(block, position)
        rest, position = _varint(block, position)
        length, position = _varint(block, position)
        if shared > len(key) or position + rest + length > end:
            raise ValueError("an entry stands behind the end of its block")
        key = key[:shared] + block[position : position + rest]
        position += rest + length
        yield key, block[position - length : position]


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Number and value of each field of a protobuf message, an integer or bytes, as its number tells who asks."""
    value: int | bytes
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        kind = tag & 7
        if kind == 0:
            value, position = _varint(message, position)
        else:
            length = {1: 8, 5: 4}.get(kind)
            if kind == 2:
                length, position = _varint(message, position)
            if length is None or position + length > len(message):
                raise ValueError("an entry of the index is no message")
            value = message[position : position + length]
            position += length
        yield tag >> 3, value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """A number and where it ends."""
    value = 0
    for index, byte in enumerate(data[position : position + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, position + index + 1
    raise ValueError("a number in the index does not end")
