"""Encoder for ONNX models as protocol buffers; the fields are those in onnx.proto.

The package onnx would do the same, but importing it takes as long as importing NumPy. The bytes are
equal to those from its helper functions.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

FLOAT, INT8, INT32, INT64 = 1, 3, 6, 7  # numbers for element types
_ELEMENT_TYPES = {"float32": FLOAT, "uint8": 2, "int8": INT8, "int32": INT32, "int64": INT64}
_EXTERNAL = 1  # data_location for values outside the model
# Wire types of protocol buffers.
_VARINT, _BYTES, _FIXED32 = 0, 2, 5
# Attribute types: their numbers, and the fields that hold their values.
_ATTRIBUTE_FLOAT, _ATTRIBUTE_INT, _ATTRIBUTE_STRING, _ATTRIBUTE_INTS = 1, 2, 3, 7
Shape = Sequence[str | int]


class Node(NamedTuple):
    """An operator with its inputs and outputs, under ONNX's names.

    Attributes:
        op_type: operator name.
        input: names of inputs.
        output: names of outputs.
        name: node name.
        domain: domain of a custom operator, or "".
        attributes: the operator's attributes: numbers, texts and lists of integers.
    """

    op_type: str
    input: Sequence[str]
    output: Sequence[str]
    name: str
    domain: str | None
    attributes: Mapping[str, Any]

    def encode(self) -> bytes:
        parts = [*(_text(1, name) for name in self.input), *(_text(2, name) for name in self.output)]
        parts += [_text(3, self.name), _text(4, self.op_type)]
        parts += [_message(5, _attribute(name, value)) for name, value in sorted(self.attributes.items())]
        return b"".join(parts) + (_text(7, self.domain) if self.domain is not None else b"")


class Value(NamedTuple):
    """An input or output of a graph: its name, element type and shape."""

    name: str
    element_type: int
    shape: Shape

    def encode(self) -> bytes:
        sizes = (_text(2, size) if isinstance(size, str) else _integer(1, size) for size in self.shape)
        shape = _message(2, b"".join(_message(1, size) for size in sizes))
        return _text(1, self.name) + _message(2, _message(1, _integer(1, self.element_type) + shape))


def encode_constant(name: str, value: np.ndarray, location: Mapping[str, str] | None = None) -> bytes:
    """Return a constant as a TensorProto.

    Args:
        name: its name.
        value: its values.
        location: entries of external_data; if None, the values are part of the result.
    """
    head = b"".join(_integer(1, size) for size in value.shape)
    head += _integer(2, _ELEMENT_TYPES[value.dtype.name]) + _text(8, name)
    if location is None:
        # The format is little-endian.
        return head + _message(9, value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes())
    entries = (_message(13, _text(1, key) + _text(2, text)) for key, text in location.items())
    return head + b"".join(entries) + _integer(14, _EXTERNAL)


def encode_model(
    nodes: Iterable[Node],
    constants: Iterable[bytes],
    inputs: Iterable[Value],
    outputs: Iterable[Value],
    ir_version: int,
    opsets: Mapping[str, int],
) -> bytes:
    """Return a ModelProto.

    Args:
        nodes: operators in order.
        constants: results from encode_constant.
        inputs, outputs: the graph's inputs and outputs.
        ir_version: version of the format.
        opsets: version by domain.
    """
    fields = [_message(1, node.encode()) for node in nodes]
    fields.append(_text(2, "bert"))
    fields += [_message(5, constant) for constant in constants]
    fields += [_message(11, value.encode()) for value in inputs]
    fields += [_message(12, value.encode()) for value in outputs]
    graph = b"".join(fields)
    versions = (_message(8, _text(1, domain) + _integer(2, version)) for domain, version in opsets.items())
    return b"".join([_integer(1, ir_version), _text(2, "bert_cli"), _message(7, graph), *versions])


def _attribute(name: str, value: Any) -> bytes:
    """Return an AttributeProto for a float, an int, a text or a list of integers."""
    if isinstance(value, float):
        return _text(1, name) + _key(2, _FIXED32) + struct.pack("<f", value) + _integer(20, _ATTRIBUTE_FLOAT)
    if isinstance(value, int):
        return _text(1, name) + _integer(3, value) + _integer(20, _ATTRIBUTE_INT)
    if isinstance(value, str):
        return _text(1, name) + _text(4, value) + _integer(20, _ATTRIBUTE_STRING)
    return _text(1, name) + b"".join(_integer(8, number) for number in value) + _integer(20, _ATTRIBUTE_INTS)


def _integer(field: int, number: int) -> bytes:
    return _key(field, _VARINT) + _varint(number)


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())


def _message(field: int, content: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(content)) + content


def _key(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _varint(number: int) -> bytes:
    """Return a number in groups of 7 bits, the lowest first; negative ones have 64 bits."""
    number &= (1 << 64) - 1
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)
