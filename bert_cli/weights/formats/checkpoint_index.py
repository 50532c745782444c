"""The index of a TF1 checkpoint (`prefix`.index), checked before anybody takes its word for how
large things are, and the arrays that it names, read without TensorFlow.

TensorFlow reads the index with C++ that allocates what a size in it claims, and ends the process
where that fails.
"""

import math
import os
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import google_crc32c
import ml_dtypes  # noqa: F401  (gives NumPy the type bfloat16)
import numpy as np

from bert_cli.base.binary_formats import mask, masked_crc32c, read_varint
from bert_cli.base.files import check_no_pointer, file_size, list_directory, open_binary, read_bytes

# The fixed-size types as NumPy calls them, by their numbers in TensorFlow's DataType.
_DTYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 8: "complex64", 9: "int64", 10: "bool",
    14: "bfloat16", 17: "uint16", 18: "complex128", 19: "float16", 22: "uint32", 23: "uint64",
}  # fmt: skip
_MOST_DIMENSIONS = 254  # of a TensorShape
_STRING = 7  # the DataType of texts, which have another kind of checksum
_PIECE = 1 << 24  # bytes of a data file that are read at once


class Entry(NamedTuple):
    """Position and type of a variable in a data file."""

    path: str
    dtype: int  # by its number in TensorFlow's DataType
    shape: tuple[int, ...]
    offset: int  # bytes
    size: int  # bytes
    checksum: bytes  # masked CRC-32C
    is_sliced: bool  # each slice has an entry of its own

    @property
    def is_plain(self) -> bool:
        """Whether it is an array."""
        return self.dtype in _DTYPES and not self.is_sliced


def read_index(prefix: str, checks_itself: bool = False) -> dict[str, Entry]:
    """The entries of all variables. ValueError where an index is not a table, or claims what its
    data files have not.

    checks_itself: ValueError, too, where a checksum says that the index is not what was written.
    """
    sizes: dict[str, int] = {}
    entries = {}
    shards = 1
    # The first entry, a header without a key, has the number of data files; the others are
    # BundleEntryProtos.
    for key, value, is_sound in table_entries(read_bytes(f"{prefix}.index")):
        name = key.decode("utf-8", "replace")
        fields = dict(_fields(value))
        if checks_itself and not is_sound:
            raise ValueError(f"the checksum of the index is wrong near {name or 'its beginning'}")
        if key:
            # proto3 leaves fields out that are 0: number of the data file, offset, size.
            path = f"{prefix}.data-{fields.get(3, 0):05d}-of-{shards:05d}"
            entry = Entry(path, fields.get(1, 0), _shape(fields), fields.get(4, 0), fields.get(5, 0),
                          fields.get(6, mask(0)), 7 in fields)  # fmt: skip
            _check_entry(name, entry, prefix, sizes)
            entries[name] = entry
        else:
            shards = fields.get(1, 1)
    return entries


def check_data(prefix: str, is_wanted: Callable[[str], bool] = lambda name: True) -> None:
    """As read_index; besides, ValueError where a checksum says that index or data are not what was
    written.

    is_wanted(name): whether the data of a variable is looked at. Raises OSError where a file cannot
    be read.
    """
    wanted: dict[str, list[tuple[int, str, Entry]]] = {}
    for name, entry in read_index(prefix, checks_itself=True).items():
        if is_wanted(name) and entry.dtype != _STRING and not entry.is_sliced:
            wanted.setdefault(entry.path, []).append((entry.offset, name, entry))
    for path in sorted(wanted):
        with open_binary(path) as file:
            for _, name, entry in sorted(wanted[path]):
                if _checksum(file, entry.offset, entry.size) != entry.checksum:
                    raise ValueError(_wrong_checksum(name, path))


def read_array(entry: Entry, name: str) -> np.ndarray:
    """The values of an entry that `is_plain`. ValueError where they are not what was written;
    OSError for no file.
    """
    # Read straight into the array, piece by piece with the checksum: one pass, and no second copy
    # of a large table.
    values = np.empty(entry.shape, _DTYPES[entry.dtype])
    raw = values.reshape(-1).view(np.uint8)
    with open_binary(entry.path) as file:
        if _checksum(file, entry.offset, entry.size, raw) != entry.checksum:
            raise ValueError(_wrong_checksum(name, entry.path))
    return values


def _wrong_checksum(name: str, path: str) -> str:
    return f"the checksum of {name} in {os.path.basename(path)} is wrong"


def _checksum(file: Any, offset: int, size: int, target: np.ndarray | None = None) -> bytes:
    """Of some bytes of a file, which are also put into `target`, uint8 [size], if it is given."""
    file.seek(offset)
    # CRC-32C goes on from piece to piece, so a table of gigabytes is never in memory twice.
    found = done = 0
    while done < size and (piece := file.read(min(size - done, _PIECE))):
        found = google_crc32c.extend(found, piece)
        if target is not None:
            target[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
        done += len(piece)
    return mask(found)


def _shape(fields: dict) -> tuple[int, ...]:
    return tuple(dict(_fields(value)).get(1, 0) for number, value in _fields(fields.get(2, b"")) if number == 2)


def _check_entry(name: str, entry: Entry, prefix: str, sizes: dict[str, int]) -> None:
    """sizes: of the data files that were looked at."""
    # A dimension of 0 is left aside here: it would make any product 0.
    if len(entry.shape) > _MOST_DIMENSIONS or math.prod(filter(None, entry.shape)) >= 1 << 63:
        raise ValueError(f"{name} has a shape that no variable can have")
    dtype = _DTYPES.get(entry.dtype)
    size = _size_of_all(prefix) if entry.is_sliced else entry.size
    count = math.prod(entry.shape)
    width = np.dtype(dtype).itemsize if dtype else 1
    if count * width > size or (dtype and not entry.is_sliced and count * width < size):
        raise ValueError(f"{name} has the shape {list(entry.shape[:9])}, but {size} bytes")
    if entry.is_sliced:
        return
    if entry.path not in sizes:
        sizes[entry.path] = file_size(entry.path)
    if entry.offset + size > sizes[entry.path]:
        check_no_pointer(entry.path)
        raise ValueError(f"{name} is after the end of {os.path.basename(entry.path)}")


def _size_of_all(prefix: str) -> int:
    folder, name = os.path.split(prefix)
    folder = folder or "."
    found = [each for each in list_directory(folder) if each.startswith(f"{name}.data-")]
    return sum(file_size(os.path.join(folder, each)) for each in found)


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Number and value of each field of a protobuf message, an integer or bytes, depending on its
    number.
    """
    value: int | bytes
    position = 0
    while position < len(message):
        tag, position = varint(message, position)
        kind = tag & 7
        # Wire types: 0 is a varint, 1 eight bytes, 2 a length and that number of bytes, 5 four
        # bytes; the others ended with proto2.
        if kind == 0:
            value, position = varint(message, position)
        else:
            length = {1: 8, 5: 4}.get(kind)
            if kind == 2:
                length, position = varint(message, position)
            if length is None or position + length > len(message):
                raise ValueError("an entry of the index is not a message")
            value = message[position : position + length]
            position += length
        yield tag >> 3, value


_MAGIC = 0xDB4775248B80FB57
_FOOTER, _TRAILER = 48, 5  # bytes; after each block are its compression (1) and checksum (4)


def table_entries(data: bytes) -> Iterator[tuple[bytes, bytes, bool]]:
    """(key, value, whether the checksum of their block is right) of all entries; ValueError for
    bytes that are no table.
    """
    if len(data) < _FOOTER or struct.unpack("<Q", data[-8:])[0] != _MAGIC:
        raise ValueError("the index is not a table")
    end = 0
    for start, length in _blocks(data):
        # Blocks that overlap would let a small file claim to hold an index of any size.
        if start < end:
            raise ValueError("two blocks of the index overlap")
        end = start + length
        block = _block(data, start, length)
        end_of_trailer = start + length + _TRAILER
        is_sound = masked_crc32c(data[start : end_of_trailer - 4]) == data[end_of_trailer - 4 : end_of_trailer]
        for key, value in _entries(block):
            yield key, value, is_sound


def _blocks(data: bytes) -> Iterator[tuple[int, int]]:
    """(offset, size) of each block of entries."""
    position = len(data) - _FOOTER
    for _ in range(2):  # of the footer's two handles the second one is of the block that lists the blocks
        offset, position = varint(data, position)
        size, position = varint(data, position)
    for _, handle in _entries(_block(data, offset, size)):
        start, place = varint(handle, 0)
        yield start, varint(handle, place)[0]


def with_second_shard(index: bytes) -> bytes:
    """The index of a checkpoint of one data file, which calls this file 00000-of-00002 instead of
    00000-of-00001; there are no variables in the other one.
    """
    start, size = next(_blocks(index))
    end = start + size + 1  # with the type of compression, which the checksum covers
    # The first entry is the header: lengths of its shared key, key and value, then field 1, the
    # number of data files.
    if index[start : start + 5] != b"\0\0\x06\x08\x01":
        raise ValueError("the index is not of one data file")
    block = index[start : start + 4] + b"\x02" + index[start + 5 : end]
    return index[:start] + block + masked_crc32c(block) + index[end + 4 :]


def _block(data: bytes, offset: int, size: int) -> bytes:
    if offset + size + _TRAILER > len(data):
        raise ValueError("a block is after the end of the index")
    if data[offset + size]:
        raise ValueError("the index is compressed, as no release of TensorFlow writes it")
    return data[offset : offset + size]


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a block; a key is stored without the bytes that it shares with the key
    before.
    """
    count = struct.unpack("<I", block[-4:])[0] if len(block) >= 4 else 0
    end = len(block) - 4 * (count + 1)
    if end < 0:
        raise ValueError("a block of the index is cut short")
    position = 0
    key = b""
    while position < end:
        shared, position = varint(block, position)
        rest, position = varint(block, position)
        length, position = varint(block, position)
        if shared > len(key) or position + rest + length > end:
            raise ValueError("an entry is after the end of its block")
        # Keys are sorted, so each is stored without the bytes that it shares with the one before.
        key = key[:shared] + block[position : position + rest]
        position += rest + length
        yield key, block[position - length : position]


def varint(data: bytes, position: int) -> tuple[int, int]:
    """A number of an index file and where it ends; ValueError where it does not."""
    return read_varint(data, position, "a number in the index does not end")
