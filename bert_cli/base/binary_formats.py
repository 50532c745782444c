"""Varints, fields and checksums in protobuf, LevelDB, TFRecord and TF1 checkpoints."""

import struct

import google_crc32c

LONGEST_VARINT = 10  # bytes used by 64 bits
# Wire types of protocol buffers.
VARINT, BYTES, FIXED32 = 0, 2, 5
_MASK_DELTA = 0xA282EAD8


def read_varint(data: bytes, position: int, problem: str = "the message ends inside a number") -> tuple[int, int]:
    """Return the varint at a position, and the position after it.

    Each byte holds seven bits, lowest first. All bytes but the last have their high bit set.

    Args:
        data: a message's bytes.
        position: index of the varint's first byte.
        problem: text for the ValueError that is raised if the varint does not end.
    """
    value = 0
    # Stop after 10 bytes: a damaged file may hold a varint that never ends.
    for index, byte in enumerate(data[position : position + LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, position + index + 1
    raise ValueError(problem)


def write_varint(value: int) -> bytes:
    """Return a nonnegative number as a varint, see `read_varint`."""
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def integer_field(field: int, number: int) -> bytes:
    """Return a protobuf field with an integer; a negative one has 64 bits."""
    return field_key(field, VARINT) + write_varint(number & (1 << 64) - 1)


def bytes_field(field: int, content: bytes) -> bytes:
    """Return a protobuf field with a message, a text or bytes."""
    return field_key(field, BYTES) + write_varint(len(content)) + content


def field_key(field: int, wire_type: int) -> bytes:
    """Return what precedes a protobuf field's value."""
    return write_varint(field << 3 | wire_type)


def mask_checksum(checksum: int) -> bytes:
    """Return a CRC-32C checksum as the 4 bytes that are stored in a file."""
    rotated = (checksum >> 15) | (checksum << 17)
    return struct.pack("<I", (rotated + _MASK_DELTA) & 0xFFFFFFFF)


def masked_crc32c(data: bytes) -> bytes:
    """Return the checksum of `data` as the 4 bytes that are stored in a file."""
    return mask_checksum(google_crc32c.value(data))
