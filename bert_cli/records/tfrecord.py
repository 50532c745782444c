"""TFRecord files, written and read without TensorFlow: its import takes seconds and hundreds of
megabytes.

A record is its length (8 bytes, little-endian), the checksum of these bytes (4), its data, the
checksum of the data (4). A checksum is CRC-32C, rotated and shifted as TensorFlow does.
"""

import contextlib
import functools
import gzip
import hashlib
import io
import os
import struct
import zlib
from array import array
from collections.abc import Iterator, Sequence
from typing import IO, Any, Self

import numpy as np

from bert_cli.base import files
from bert_cli.base.binary_formats import masked_crc32c
from bert_cli.base.errors import InputError

_HEAD, _FOOT = 12, 4  # bytes before and after the data of a record
_BLOCK = 1 << 22  # bytes that are read at once


@functools.lru_cache  # the records of a file have few lengths
def _head_of(length: int) -> bytes:
    data = struct.pack("<Q", length)
    return data + masked_crc32c(data)


def pack_records(records: Sequence[bytes]) -> bytes:
    """Records as a stretch of a TFRecord file."""
    return b"".join(part for record in records for part in (_head_of(len(record)), record, masked_crc32c(record)))


def read_records(path: str) -> Iterator[bytes]:
    """The records of a TFRecord file (not a compressed one), one by one. InputError where it is
    none, or is cut short.
    """

    def check(data: bytes, stored: bytes, is_whole: bool) -> None:
        if masked_crc32c(data) != stored or not is_whole:
            raise InputError(f"{path}: record {number} is damaged, or this is not a TFRecord file; make it again")

    with files.open_binary(path) as file:
        number = 0
        while head := file.read(_HEAD):
            check(head[:8], head[8:], len(head) == _HEAD)
            (length,) = struct.unpack("<Q", head[:8])
            data = _read_up_to(file, length)
            stored = file.read(4)
            check(data, stored, len(data) == length)
            yield data
            number += 1


def _read_up_to(file: IO[bytes], size: int) -> bytes:
    """`size` bytes, or as many as are left; missing bytes take no memory, whatever size a file
    claims.
    """
    blocks = []
    # A damaged length may be exabytes.
    while size and (block := file.read(min(size, _BLOCK))):
        blocks.append(block)
        size -= len(block)
    return b"".join(blocks)


def is_record_file(path: str) -> bool:
    """Whether a file begins as a TFRecord file does. InputError where it is one that was
    compressed.
    """
    try:
        with files.open_binary(path) as file:
            head = file.read(_HEAD)
        # gzip: TensorFlow writes such files with an option, and the random access below cannot read
        # them.
        if head[:2] != b"\x1f\x8b":
            return _is_head(head)
        with contextlib.suppress(EOFError, zlib.error, gzip.BadGzipFile), files.open_binary(path) as file:
            if _is_head(gzip.GzipFile(fileobj=file).read(_HEAD)):
                raise InputError(f"{path}: is a compressed TFRecord file; unpack it with gunzip")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    return False


def _is_head(head: bytes) -> bool:
    return len(head) == _HEAD and masked_crc32c(head[:8]) == head[8:]


class RecordIndex:
    """The records of several files, numbered from 0 in the order of the files; a context that
    closes them.

    `digest` is a fingerprint of all records, from their lengths and checksums.
    """

    def __init__(self, paths: Sequence[str]):
        """InputError for a file that is damaged or cut short."""
        self.paths = list(paths)
        self._files = []
        offsets = array("q")
        lengths = array("q")
        self._firsts = []
        digest = hashlib.sha256()
        with contextlib.ExitStack() as opened:
            for path in self.paths:
                self._firsts.append(len(offsets))
                try:
                    self._files.append(opened.enter_context(files.open_binary(path)))
                    _scan(path, self._files[-1], offsets, lengths, digest)
                except OSError as error:
                    raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
            # An exception before this line closes the files; from here on the context does.
            self._stack = opened.pop_all()
        self._offsets, self._lengths = np.array(offsets), np.array(lengths)
        self.digest = digest.hexdigest()[:16]

    def __len__(self) -> int:
        return len(self._offsets)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def place(self, number: int) -> str:
        """`path: record k` for an error message; k counts from 0 in its file."""
        file = int(np.searchsorted(self._firsts, number, "right")) - 1
        return f"{self.paths[file]}: record {number - self._firsts[file]}"

    def read(self, numbers: Sequence[int] | np.ndarray) -> list[bytes]:
        """The data of these records. InputError, naming file and record, where a checksum is wrong."""
        found = []
        for number in np.asarray(numbers, np.int64).tolist():
            file = self._files[int(np.searchsorted(self._firsts, number, "right")) - 1]
            offset, length = int(self._offsets[number]), int(self._lengths[number])
            data = _read_at(file, offset, length + _FOOT)
            found.append(data[:length])
            if masked_crc32c(found[-1]) != data[length:]:
                raise InputError(f"{self.place(number)} is damaged; make the file again")
        return found


def _read_at(file: Any, offset: int, size: int) -> bytes:
    # pread moves no position, so threads may read from one file; remote files have no descriptor.
    if isinstance(getattr(file, "raw", None), io.FileIO):
        return os.pread(file.fileno(), size, offset)
    file.seek(offset)
    return file.read(size)


def _scan(path: str, file: IO[bytes], offsets: array, lengths: array, digest: "hashlib._Hash") -> None:
    """Append where the data of each record begins, and how long it is."""
    position = 0
    start = 0
    block = b""
    number = 0
    while True:
        if position + _HEAD > start + len(block):
            start = position
            block = _read_at(file, position, _BLOCK)
            if not block:
                return
        place = position - start
        head = block[place : place + _HEAD]
        length = struct.unpack_from("<Q", head)[0] if len(head) == _HEAD else 0
        end = position + _HEAD + length
        if length > 1 << 40 or (number == 0 and not _is_head(head)):
            raise InputError(f"{path}: record {number} is damaged, or this is not a TFRecord file; make it again")
        if end + _FOOT <= start + len(block):
            foot = block[end - start : end - start + _FOOT]
        else:
            foot = _read_at(file, end, _FOOT)
        if length == 0 or len(foot) < _FOOT:
            raise InputError(f"{path}: record {number} is cut short; make the file again")
        offsets.append(position + _HEAD)
        lengths.append(length)
        # Length and checksum are enough to distinguish files, and the data is not read.
        digest.update(head[:8] + foot)
        position, number = end + _FOOT, number + 1
