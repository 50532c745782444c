"""TFRecord files, written and read without TensorFlow, whose import takes seconds and hundreds of megabytes.

A record is its length (8 bytes, little-endian), the checksum of these bytes (4), its data, the checksum of the data
(4). A checksum is CRC-32C, rotated and shifted as TensorFlow does.
"""

import functools
import struct
from collections.abc import Iterator, Sequence

import google_crc32c

from bert_cli.base import files
from bert_cli.base.errors import InputError

_MASK_DELTA = 0xA282EAD8
_LARGEST = 0xFFFFFFFF  # of 32 bits


def masked_crc32c(data: bytes) -> bytes:
    """The checksum of `data` as TFRecord files hold it, 4 bytes."""
    checksum = google_crc32c.value(data)
    return struct.pack("<I", ((checksum >> 15 | checksum << 17) + _MASK_DELTA) & _LARGEST)


@functools.lru_cache  # the records of a file have few lengths
def _head(length: int) -> bytes:
    data = struct.pack("<Q", length)
    return data + masked_crc32c(data)


def pack_records(records: Sequence[bytes]) -> bytes:
    """Records as a stretch of a TFRecord file."""
    parts = []
    for record in records:
        parts += (_head(len(record)), record, masked_crc32c(record))
    return b"".join(parts)


def read_records(path: str) -> Iterator[bytes]:
    """The records of a TFRecord file (not a compressed one), one by one. InputError where it is none, or is cut short."""

    def check(data: bytes, stored: bytes) -> None:
        if masked_crc32c(data) != stored:
            raise InputError(f"{path}: record {number} is damaged, or this is no TFRecord file; make it again")

    with files.open_binary(path) as file:
        number = 0
        while head := file.read(12):
            check(head[:8].ljust(8, b"\0"), head[8:])
            (length,) = struct.unpack("<Q", head[:8])
            data, stored = file.read(length), file.read(4)
            check(data, stored)
            yield data
            number += 1
