"""Encoder of tf.train.Example messages for many rows, and decoder for single messages.

It uses no TensorFlow. An Example is: features (1) { entry (1) { key (1), value (2) { int64_list (3)
or float_list (2) { packed values (1) } } } … }. Each number is a protobuf field. Each brace is a
length as a varint, followed by that number of bytes.
"""

import functools
from collections.abc import Iterator

import numpy as np

from bert_cli.base.binary_formats import LONGEST_VARINT, read_varint

_FLOAT_LIST, _INT64_LIST = 2, 3
_LENGTH_DELIMITED = 2
_TABLE_BITS = 18  # enough for token ids
_WIDTHS = {1: 8, 5: 4}  # wire type -> size in bytes for fixed-width numbers


class _ByteRows:
    """Byte strings for n rows, as arrays [n, width] with a mask of used bytes."""

    def __init__(self, data: np.ndarray, used: np.ndarray | None = None):
        """Start with uint8 data [n, width] and a mask of used bytes, None if all are used."""
        if used is None:
            self.lengths = np.full(len(data), data.shape[1])
            used = np.ones(data.shape, bool)
        else:
            self.lengths = np.count_nonzero(used, axis=1)
        self.parts = [(data, used)]

    def after(self, head: bytes) -> "_ByteRows":
        """Return the rows with `head` and the row's length in front."""
        row = np.frombuffer(head, np.uint8)
        start = _ByteRows(np.broadcast_to(row, (len(self.lengths), len(row))))
        start.extend(_ByteRows(*_varints(self.lengths[:, None])))
        start.extend(self)
        return start

    def extend(self, more: "_ByteRows") -> None:
        self.parts += more.parts
        self.lengths = self.lengths + more.lengths

    def strings(self) -> list[bytes]:
        data = np.concatenate([block for block, _ in self.parts], axis=1)
        used = np.concatenate([mask for _, mask in self.parts], axis=1)
        joined = data[used].tobytes()
        ends = np.cumsum(self.lengths).tolist()
        return [joined[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _varints(values: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return nonnegative values [n, width] as varints: bytes [n, size], and a mask of used bytes."""
    bits = int(values.max(initial=0)).bit_length()
    # Segment ids, masks and labels need one byte, which is the number itself.
    if bits <= 7:
        return values.astype(np.uint8), None
    if bits > _TABLE_BITS:
        data, used = _compute_varints(values, -(-bits // 7))
    else:
        data, used = (table.take(values).view(np.uint8) for table in _varint_tables(bits))
    return data.reshape(len(values), -1), used.reshape(len(values), -1).view(bool)


@functools.cache
def _varint_tables(bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return bytes and masks for numbers up to `bits` bits, packed into uint32.

    Looking them up is faster than computing them.
    """
    data, used = _compute_varints(np.arange(1 << bits), 4)
    return data.view(np.uint32).reshape(-1), used.view(np.uint32).reshape(-1)


def _compute_varints(values: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return bytes and masks, uint8 [..., size], for values [...] below 2 ** (7 * size)."""
    values = values.astype(np.uint64)[..., None]
    groups = values >> np.arange(0, 7 * size, 7, dtype=np.uint64)
    used = (groups > 0).astype(np.uint8)
    used[..., 0] = 1
    data = (groups & np.uint64(0x7F)).astype(np.uint8)
    data[..., :-1] |= used[..., 1:] << 7
    return data, used


def _tag(field: int) -> bytes:
    return bytes([field << 3 | _LENGTH_DELIMITED])


def encode_examples(columns: dict[str, np.ndarray]) -> list[bytes]:
    """Return one serialized tf.train.Example per row.

    Integers become int64 lists, and floats become float lists. Features use the order of `columns`.

    Args:
        columns: name -> int (0 or above) or float [n, length], with the same n.
    """
    # Build from the inside out: a message begins with its length, which is known last.
    features = []
    for name, values in columns.items():
        if values.dtype.kind == "f":
            pieces = _ByteRows(np.ascontiguousarray(values, "<f4").view(np.uint8))
            list_field = _FLOAT_LIST
        else:
            pieces = _ByteRows(*_varints(values))
            list_field = _INT64_LIST
        # Names are shorter than 128 bytes, so their length is one byte.
        key = name.encode("utf-8")
        pieces = pieces.after(_tag(1)).after(_tag(list_field)).after(_tag(1) + bytes([len(key)]) + key + _tag(2))
        features.append(pieces.after(_tag(1)))
    example, *more_features = features
    for feature in more_features:
        example.extend(feature)
    return example.after(_tag(1)).strings()


def decode_example(data: bytes) -> dict[str, np.ndarray]:
    """Return the features in a serialized tf.train.Example, name -> int64 or float32 [length].

    Raises:
        ValueError: the data is not a tf.train.Example.
    """
    features = {}
    for entry in _fields(next(_fields(data, 1), b""), 1):
        name = next(_fields(entry, 1), b"").decode("utf-8")
        value = next(_fields(entry, 2), b"")
        if not name:
            raise ValueError("a feature has no name")
        floats = next(_fields(value, _FLOAT_LIST), None)
        integers = next(_fields(value, _INT64_LIST), None)
        if floats is not None:
            features[name] = np.frombuffer(b"".join(_fields(floats, 1)), "<f4")
        elif integers is not None:
            features[name] = _decode_varints(b"".join(_fields(integers, 1)))
    return features


def _decode_varints(data: bytes) -> np.ndarray:
    """Return consecutive varints as int64."""
    groups = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(groups < 0x80)
    if len(groups) and (not len(ends) or ends[-1] != len(groups) - 1):
        raise ValueError("the message ends inside a number")
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)
    if not len(ends):
        return np.zeros(0, np.int64)
    lengths = ends - starts + 1
    if lengths.max() > LONGEST_VARINT:
        raise ValueError("a number of more than 64 bits")
    # Decode all numbers together: shift each byte, then add up each number's bytes.
    shifts = 7 * (np.arange(len(groups)) - np.repeat(starts, lengths))
    shifted = (groups & 0x7F).astype(np.uint64) << shifts.astype(np.uint64)
    return np.add.reduceat(shifted, starts).astype(np.int64)


def _fields(data: bytes, number: int) -> Iterator[bytes]:
    """Yield the contents of length-delimited fields with this number."""
    position = 0
    while position < len(data):
        key, position = read_varint(data, position)
        field, wire_type = key >> 3, key & 7
        if wire_type == _LENGTH_DELIMITED:
            length, position = read_varint(data, position)
            if position + length > len(data):
                raise ValueError("the message ends inside a field")
            if field == number:
                yield data[position : position + length]
            position += length
        elif wire_type == 0:
            _, position = read_varint(data, position)
        elif wire_type in _WIDTHS:
            position += _WIDTHS[wire_type]
        else:
            raise ValueError(f"unknown wire type {wire_type}")
