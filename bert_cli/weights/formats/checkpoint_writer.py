"""Writer for TF1 checkpoints that needs memory for one variable at a time.

The files equal TensorFlow's from SaveV2, byte for byte, but SaveV2 needs all variables in
memory at once. The index is a LevelDB table, see `checkpoint_index`.
"""

import functools
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import IO

import google_crc32c
import numpy as np

from bert_cli.base.binary_formats import (
    FIXED32,
    bytes_field,
    field_key,
    integer_field,
    mask_checksum,
    masked_crc32c,
    write_varint,
)
from bert_cli.base.writing import open_new
from bert_cli.weights.formats.checkpoint_index import DTYPES, TABLE_MAGIC

_DTYPE_NUMBERS = {name: number for number, name in DTYPES.items()}
# Written bytes per call: a chunk stays in the CPU's cache between copy, checksum and writing.
_CHUNK_BYTES = 1 << 18
# Sizes in TensorFlow's table writer: bytes per block, and entries between two whole keys.
_BLOCK_BYTES, _RESTART_INTERVAL = 1 << 18, 16
# BundleHeaderProto: one data file, version 1.
_HEADER = b"\x08\x01\x1a\x02\x08\x01"


class LazyArrays(Mapping[str, np.ndarray]):
    """Arrays by name, each computed when it is read."""

    def __init__(self, readers: Mapping[str, Callable[[], np.ndarray]]):
        """Keep a function per name that returns the array."""
        self._readers = readers

    def __getitem__(self, name: str) -> np.ndarray:
        return self._readers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._readers)

    def __len__(self) -> int:
        return len(self._readers)

    def __or__(self, arrays: Mapping[str, np.ndarray]) -> "LazyArrays":
        """Return these arrays and the given ones, which exist already."""
        return LazyArrays({**self._readers, **{name: functools.partial(arrays.__getitem__, name) for name in arrays}})


def write_tf1(prefix: str, tensors: Mapping[str, np.ndarray]) -> None:
    """Write a TF1 checkpoint that Google's scripts can read.

    Args:
        prefix: path without the ending .index; its directory must exist.
        tensors: values by Google's name. Each is read once and then released, see LazyArrays.
    """
    entries = [(b"", _HEADER)]
    offset = 0
    with open_new(f"{prefix}.data-00000-of-00001") as file:
        # Sort the names, so that equal weights give equal files.
        for name in sorted(tensors):
            entry, size = _write_array(file, np.asarray(tensors[name]), offset)
            entries.append((name.encode(), entry))
            offset += size
    with open_new(f"{prefix}.index") as file:
        file.write(_table(entries))


def _write_array(file: IO[bytes], values: np.ndarray, offset: int) -> tuple[bytes, int]:
    """Write an array's bytes; return its BundleEntryProto and its size in bytes."""
    number = _DTYPE_NUMBERS.get(values.dtype.name)
    if number is None:
        raise TypeError(f"a checkpoint cannot contain values of type {values.dtype}")
    raw = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    checksum = 0
    for start in range(0, raw.size, _CHUNK_BYTES):
        chunk = raw[start : start + _CHUNK_BYTES].tobytes()
        checksum = google_crc32c.extend(checksum, chunk)
        file.write(chunk)
    shape = b"".join(bytes_field(2, _number(1, size)) for size in values.shape)
    entry = _number(1, number) + bytes_field(2, shape) + _number(4, offset) + _number(5, raw.size)
    return entry + field_key(6, FIXED32) + mask_checksum(checksum), raw.size


def _number(field: int, value: int) -> bytes:
    """Return a protobuf field; proto3 omits a 0."""
    return integer_field(field, value) if value else b""


def _table(entries: list[tuple[bytes, bytes]]) -> bytes:
    """Return a LevelDB table with these keys and values, sorted by key."""
    table = bytearray()
    index = _Block(restart_interval=1)
    block = _Block(_RESTART_INTERVAL)
    for position, (key, value) in enumerate(entries):
        block.add(key, value)
        next_key = entries[position + 1][0] if position + 1 < len(entries) else None
        if next_key is None or block.size >= _BLOCK_BYTES:
            index.add(_separator(key, next_key), _append(table, block))
            block = _Block(_RESTART_INTERVAL)
    handles = _append(table, _Block(_RESTART_INTERVAL)) + _append(table, index)
    return bytes(table) + handles.ljust(40, b"\0") + struct.pack("<Q", TABLE_MAGIC)


class _Block:
    """Entries of a table; a key is stored without the prefix that it shares with the previous one."""

    def __init__(self, restart_interval: int):
        self._interval = restart_interval
        self._data = bytearray()
        self._restarts = [0]
        self._count = 0
        self._last_key = b""

    @property
    def size(self) -> int:
        return len(self._data) + 4 * (len(self._restarts) + 1)

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self._count == self._interval:
            self._restarts.append(len(self._data))
            self._count = 0
        else:
            shared = _common_length(self._last_key, key)
        lengths = (shared, len(key) - shared, len(value))
        self._data += b"".join(map(write_varint, lengths)) + key[shared:] + value
        self._count += 1
        self._last_key = key

    def content(self) -> bytes:
        numbers = [*self._restarts, len(self._restarts)]
        return bytes(self._data) + struct.pack(f"<{len(numbers)}I", *numbers)


def _append(table: bytearray, block: _Block) -> bytes:
    """Append a block with its trailer, and return its handle: offset and size."""
    content = block.content()
    handle = write_varint(len(table)) + write_varint(len(content))
    body = content + b"\0"  # not compressed
    table += body + masked_crc32c(body)
    return handle


def _separator(key: bytes, next_key: bytes | None) -> bytes:
    """Return a short key that is not less than `key`, and less than `next_key` if that exists."""
    if next_key is None:
        position = len(key) - len(key.lstrip(b"\xff"))
        limit = 0x100
    else:
        position = _common_length(key, next_key)
        limit = next_key[position] if position < len(next_key) else 0
    if position < len(key) and key[position] + 1 < limit:
        return key[:position] + bytes([key[position] + 1])
    return key


def _common_length(first: bytes, second: bytes) -> int:
    pairs = enumerate(zip(first, second, strict=False))
    return next((position for position, (a, b) in pairs if a != b), min(len(first), len(second)))
