"""The checksum of TFRecord files and of TF1 checkpoints: CRC-32C, masked as both formats do it."""

import struct

import google_crc32c

_MASK_DELTA = 0xA282EAD8


def mask(checksum: int) -> bytes:
    """The 4 bytes that a file holds of a CRC-32C."""
    rotated = (checksum >> 15) | (checksum << 17)
    return struct.pack("<I", (rotated + _MASK_DELTA) & 0xFFFFFFFF)


def masked_crc32c(data: bytes) -> bytes:
    """The 4 bytes that a file holds as the checksum of `data`."""
    return mask(google_crc32c.value(data))
