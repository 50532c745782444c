"""TFRecord files, read and written without TensorFlow, which needs seconds to import.

A record is its length (8 bytes, little-endian), the length's checksum (4), its data, and the data's
checksum (4). Checksums use CRC-32C, rotated and shifted as in TensorFlow.
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

_HEAD, _FOOT = 12, 4  # bytes before and after a record's data
_BLOCK = 1 << 22  # bytes per read


@functools.lru_cache  # a file's records have few distinct lengths
def _head_of(length: int) -> bytes:
    data = struct.pack("<Q", length)
    return data + masked_crc32c(data)


def pack_records(records: Sequence[bytes]) -> bytes:
    """Return the records in TFRecord format."""
    return b"".join(piece for record in records for piece in (_head_of(len(record)), record, masked_crc32c(record)))


def read_records(path: str) -> Iterator[bytes]:
    """Yield the records in a TFRecord file that is not compressed.

    Raises:
        InputError: the file is not a TFRecord file, or is truncated.
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
    """Read `size` bytes, or fewer if the file ends.

    Missing bytes use no memory, even if a file claims a huge size.
    """
    blocks = []
    # Read in blocks, because a damaged length may be exabytes.
    while size and (block := file.read(min(size, _BLOCK))):
        blocks.append(block)
        size -= len(block)
    return b"".join(blocks)


def is_record_file(path: str) -> bool:
    """Return whether a file begins like a TFRecord file.

    Raises:
        InputError: the file is a compressed TFRecord file.
    """
    try:
        with files.open_binary(path) as file:
            head = file.read(_HEAD)
        # TensorFlow can write gzip files, but random access needs uncompressed ones.
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
    """Index of the records in several files, numbered from 0 in file order; a context.

    Attributes:
        paths: paths of the files.
        digest: fingerprint of all records, from their lengths and checksums.
    """

    def __init__(self, paths: Sequence[str]):
        """Open and scan the files; raise InputError if a file is damaged or truncated."""
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
            # An exception before this line closes the files. From now on, the context closes them.
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
        """Return `path: record k` for an error message; k counts from 0 in its file."""
        file = int(np.searchsorted(self._firsts, number, "right")) - 1
        return f"{self.paths[file]}: record {number - self._firsts[file]}"

    def read(self, numbers: Sequence[int] | np.ndarray) -> list[bytes]:
        """Return the data of these records.

        Raises:
            InputError: a checksum is wrong; the message names file and record.
        """
        records = []
        for number in np.asarray(numbers, np.int64).tolist():
            file = self._files[int(np.searchsorted(self._firsts, number, "right")) - 1]
            offset, length = int(self._offsets[number]), int(self._lengths[number])
            data = _read_at(file, offset, length + _FOOT)
            records.append(data[:length])
            if masked_crc32c(records[-1]) != data[length:]:
                raise InputError(f"{self.place(number)} is damaged; make the file again")
        return records


def _read_at(file: Any, offset: int, size: int) -> bytes:
    # pread does not move the file position, so threads can share a file. Remote files have no
    # descriptor.
    if isinstance(getattr(file, "raw", None), io.FileIO):
        return os.pread(file.fileno(), size, offset)
    file.seek(offset)
    return file.read(size)


def _scan(path: str, file: IO[bytes], offsets: array, lengths: array, digest: "hashlib._Hash") -> None:
    """Append each record's data offset and data length."""
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
        head_start = position - start
        head = block[head_start : head_start + _HEAD]
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
        # Length and checksum are enough to distinguish files, without reading the data.
        digest.update(head[:8] + foot)
        position, number = end + _FOOT, number + 1
