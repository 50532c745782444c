"""Reader for a TF1 checkpoint's index (`prefix`.index) and arrays, without TensorFlow.

It checks all sizes in the index. TensorFlow's C++ code allocates any size that an index claims, and
aborts the process if that fails.
"""

import math
import os
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import google_crc32c
import ml_dtypes  # noqa: F401  (gives NumPy the type bfloat16)
import numpy as np

from bert_cli.base.binary_formats import mask_checksum, masked_crc32c, read_varint
from bert_cli.base.files import check_no_pointer, file_size, list_directory, open_binary, read_bytes

# NumPy's names of the fixed-size types, by their numbers in TensorFlow's DataType.
DTYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 8: "complex64", 9: "int64", 10: "bool",
    14: "bfloat16", 17: "uint16", 18: "complex128", 19: "float16", 22: "uint32", 23: "uint64",
}  # fmt: skip
# TensorShape's limit.
_MAX_DIMENSIONS = 254
# The DataType for strings, which use another checksum.
_STRING = 7
# Size of each read from a data file. A chunk stays in the CPU's cache between reading, checksum and
# copy: chunks of 16 MiB took 1.5 times as long (measured).
_CHUNK_BYTES = 1 << 18


class Entry(NamedTuple):
    """A variable's position and type in a data file.

    Attributes:
        path: data file.
        dtype: number in TensorFlow's DataType.
        shape: the whole variable's shape.
        offset: position in bytes.
        size: number of bytes.
        checksum: masked CRC-32C.
        is_sliced: whether the values are in separate entries, one per slice.
    """

    path: str
    dtype: int
    shape: tuple[int, ...]
    offset: int
    size: int
    checksum: bytes
    is_sliced: bool

    @property
    def is_plain(self) -> bool:
        """Return whether this is an array that `read_array` can read."""
        return self.dtype in DTYPES and not self.is_sliced


def read_index(prefix: str, verify_checksums: bool = False) -> dict[str, Entry]:
    """Return the entries by variable name.

    Args:
        prefix: the checkpoint's prefix.
        verify_checksums: also verify the index's checksums.

    Raises:
        ValueError: if the index is not a table, a checksum is wrong, or a data file is too small
            for an entry.
    """
    sizes: dict[str, int] = {}
    entries = {}
    shards = 1
    # The first entry is a header without a key, with the number of data files. The others are
    # BundleEntryProtos.
    for key, value, is_sound in table_entries(read_bytes(f"{prefix}.index")):
        name = key.decode("utf-8", "replace")
        fields = dict(_fields(value))
        if verify_checksums and not is_sound:
            raise ValueError(f"the checksum of the index is wrong near {name or 'its beginning'}")
        if key:
            # Use 0 for missing fields: proto3 omits a data file number, offset or size of 0.
            path = f"{prefix}.data-{fields.get(3, 0):05d}-of-{shards:05d}"
            entry = Entry(path, fields.get(1, 0), _shape(fields), fields.get(4, 0), fields.get(5, 0),
                          fields.get(6, mask_checksum(0)), 7 in fields)  # fmt: skip
            _check_entry(name, entry, prefix, sizes)
            entries[name] = entry
        else:
            shards = fields.get(1, 1)
    return entries


def check_data(prefix: str, should_check: Callable[[str], bool] = lambda name: True) -> None:
    """Verify the checksums of index and data files.

    Args:
        prefix: the checkpoint's prefix.
        should_check: should_check(name) returns whether to verify a variable's data.

    Raises:
        ValueError: if a checksum is wrong (see also `read_index`).
        OSError: if a file cannot be read.
    """
    entries_by_path: dict[str, list[tuple[int, str, Entry]]] = {}
    for name, entry in read_index(prefix, verify_checksums=True).items():
        if should_check(name) and entry.dtype != _STRING and not entry.is_sliced:
            entries_by_path.setdefault(entry.path, []).append((entry.offset, name, entry))
    for path in sorted(entries_by_path):
        with open_binary(path) as file:
            for _, name, entry in sorted(entries_by_path[path]):
                if _checksum(file, entry.offset, entry.size) != entry.checksum:
                    raise ValueError(_wrong_checksum(name, path))


def read_array(entry: Entry, name: str) -> np.ndarray:
    """Return an entry's values; it must be `is_plain`.

    Args:
        entry: the variable's entry.
        name: the variable's name, for messages.

    Raises:
        ValueError: if the checksum is wrong.
        OSError: if the data file cannot be read.
    """
    # Compute the checksum while reading into the array: one pass, and no second copy.
    values = np.empty(entry.shape, DTYPES[entry.dtype])
    raw = values.reshape(-1).view(np.uint8)
    with open_binary(entry.path) as file:
        if _checksum(file, entry.offset, entry.size, raw) != entry.checksum:
            raise ValueError(_wrong_checksum(name, entry.path))
    return values


def _wrong_checksum(name: str, path: str) -> str:
    return f"the checksum of {name} in {os.path.basename(path)} is wrong"


def _checksum(file: Any, offset: int, size: int, target: np.ndarray | None = None) -> bytes:
    """Return the checksum of `size` bytes, and copy them to `target`, uint8 [size], if not None."""
    file.seek(offset)
    checksum = num_read = 0
    while num_read < size and (chunk := file.read(min(size - num_read, _CHUNK_BYTES))):
        checksum = google_crc32c.extend(checksum, chunk)
        if target is not None:
            target[num_read : num_read + len(chunk)] = np.frombuffer(chunk, np.uint8)
        num_read += len(chunk)
    return mask_checksum(checksum)


def _shape(fields: dict) -> tuple[int, ...]:
    return tuple(dict(_fields(value)).get(1, 0) for number, value in _fields(fields.get(2, b"")) if number == 2)


def _check_entry(name: str, entry: Entry, prefix: str, sizes: dict[str, int]) -> None:
    """Raise ValueError if an entry is inconsistent; `sizes` caches the sizes of data files."""
    # Skip dimensions of 0, which would hide overflow in the product.
    if len(entry.shape) > _MAX_DIMENSIONS or math.prod(filter(None, entry.shape)) >= 1 << 63:
        raise ValueError(f"{name} has a shape that no variable can have")
    dtype = DTYPES.get(entry.dtype)
    size = _total_data_size(prefix) if entry.is_sliced else entry.size
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


def _total_data_size(prefix: str) -> int:
    folder, name = os.path.split(prefix)
    folder = folder or "."
    names = [data_name for data_name in list_directory(folder) if data_name.startswith(f"{name}.data-")]
    return sum(file_size(os.path.join(folder, data_name)) for data_name in names)


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield each field's number and value, an integer or bytes, in a protobuf message."""
    value: int | bytes
    position = 0
    while position < len(message):
        tag, position = varint(message, position)
        wire_type = tag & 7
        # Wire types: 0 is a varint, 1 is eight bytes, 2 is a length and as many bytes, 5 is four
        # bytes. proto3 has no others.
        if wire_type == 0:
            value, position = varint(message, position)
        else:
            length = {1: 8, 5: 4}.get(wire_type)
            if wire_type == 2:
                length, position = varint(message, position)
            if length is None or position + length > len(message):
                raise ValueError("an entry of the index is not a message")
            value = message[position : position + length]
            position += length
        yield tag >> 3, value


TABLE_MAGIC = 0xDB4775248B80FB57
# Bytes. The trailer after each block contains its compression (1) and checksum (4).
_FOOTER, _TRAILER = 48, 5


def table_entries(data: bytes) -> Iterator[tuple[bytes, bytes, bool]]:
    """Yield each entry in a table as (key, value, is_sound).

    is_sound is whether the entry's block has the correct checksum.

    Raises:
        ValueError: if `data` is not a table.
    """
    if len(data) < _FOOTER or struct.unpack("<Q", data[-8:])[0] != TABLE_MAGIC:
        raise ValueError("the index is not a table")
    end = 0
    for start, length in _blocks(data):
        # Refuse overlapping blocks, because a small file could have any number of them.
        if start < end:
            raise ValueError("two blocks of the index overlap")
        end = start + length
        block = _block(data, start, length)
        end_of_trailer = start + length + _TRAILER
        is_sound = masked_crc32c(data[start : end_of_trailer - 4]) == data[end_of_trailer - 4 : end_of_trailer]
        for key, value in _entries(block):
            yield key, value, is_sound


def _blocks(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the offset and the size for each block with entries."""
    position = len(data) - _FOOTER
    # Use the second handle in the footer: it points to the block that lists all blocks.
    for _ in range(2):
        offset, position = varint(data, position)
        size, position = varint(data, position)
    for _, handle in _entries(_block(data, offset, size)):
        start, value_position = varint(handle, 0)
        yield start, varint(handle, value_position)[0]


def with_second_shard(index: bytes) -> bytes:
    """Return a checkpoint's index with its data file renamed to 00000-of-00002.

    The file 00001-of-00002 has no variables.

    Args:
        index: content of the index file, for the single data file 00000-of-00001.
    """
    start, size = next(_blocks(index))
    # Include the compression type, which the checksum covers.
    end = start + size + 1
    # The first entry is the header: lengths of the shared key, the key and the value, then field 1,
    # the number of data files.
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
    """Yield the keys and values in a block."""
    count = struct.unpack("<I", block[-4:])[0] if len(block) >= 4 else 0
    end = len(block) - 4 * (count + 1)
    if end < 0:
        raise ValueError("a block of the index is cut short")
    position = 0
    key = b""
    while position < end:
        shared, position = varint(block, position)
        unshared, position = varint(block, position)
        length, position = varint(block, position)
        if shared > len(key) or position + unshared + length > end:
            raise ValueError("an entry is after the end of its block")
        # A key is stored without the prefix that it shares with the previous key.
        key = key[:shared] + block[position : position + unshared]
        position += unshared + length
        yield key, block[position - length : position]


def varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a number in an index, and its end position; raise ValueError if it has no end."""
    return read_varint(data, position, "a number in the index does not end")
