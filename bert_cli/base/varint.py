"""Numbers as protobuf and LevelDB write them: seven bits a byte, the lowest first, and a high bit
in all bytes but the last.
"""

LONGEST_VARINT = 10  # bytes, of a number of 64 bits


def read_varint(data: bytes, position: int, problem: str = "the message ends inside a number") -> tuple[int, int]:
    """The number at a position, and where it ends. ValueError, which says `problem`, where it does
    not end.
    """
    value = 0
    # Never more bytes than a number has: a damaged file may claim one without end.
    for index, byte in enumerate(data[position : position + LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, position + index + 1
    raise ValueError(problem)
