"""Numbers and checksums of Google's binary formats: protobuf, LevelDB, TFRecord and TF1 checkpoints."""

import struct

import google_crc32c

LONGEST_VARINT = 10  # bytes, of a number of 64 bits
_MASK_DELTA = 0xA282EAD8


def read_varint(data: bytes, position: int, problem: str = "the message ends inside a number") -> tuple[int, int]:
    """Return the number at a position, and where it ends.

    Each byte holds seven bits, the lowest first, and has a high bit unless it is the last. Raise
    ValueError with the text `problem` if the number does not end.
    """
    value = 0
    # Never more bytes than a number has: a damaged file may claim one without end.
    for index, byte in enumerate(data[position : position + LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, position + index + 1
    raise ValueError(problem)


def mask(checksum: int) -> bytes:
    """Return the 4 bytes with which a file stores a CRC-32C."""
    rotated = (checksum >> 15) | (checksum << 17)
    return struct.pack("<I", (rotated + _MASK_DELTA) & 0xFFFFFFFF)


def masked_crc32c(data: bytes) -> bytes:
    """Return the 4 bytes with which a file stores the checksum of `data`."""
    return mask(google_crc32c.value(data))
