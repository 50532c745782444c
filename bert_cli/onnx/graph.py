"""ONNX graphs, which are built one operator at a time, and their encoding as protocol buffers.

Operators use the forms that onnxruntime fuses and quantizes: two-dimensional constants as second
factors in MatMul, and LayerNormalization and Gelu as single operators (opset 20).

The fields of the protocol buffers are those in onnx.proto. The package onnx would encode the same
bytes, but importing it takes as long as importing NumPy.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bert_cli.base.binary_formats import FIXED32, bytes_field, field_key, integer_field

OPSET, IR_VERSION = 20, 9  # the newest versions that onnxruntime 1.17 can read
TEXTS = ("batch", "length")  # shape of token ids
FLOAT, INT8, INT32, INT64, BOOL = 1, 3, 6, 7, 9  # numbers for element types
_ELEMENT_TYPES = {"float32": FLOAT, "uint8": 2, "int8": INT8, "int32": INT32, "int64": INT64}
_EXTERNAL = 1  # data_location for values outside the model
# Attribute types: their numbers, and the fields that hold their values.
_ATTRIBUTE_FLOAT, _ATTRIBUTE_INT, _ATTRIBUTE_STRING, _ATTRIBUTE_INTS = 1, 2, 3, 7
Shape = Sequence[str | int]


class Graph:
    """Nodes, constants, inputs and outputs; methods return their result's name."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.constants: dict[str, np.ndarray] = {}
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []

    def input(self, name: str, shape: Shape, dtype: int = INT64) -> str:
        """Add an input to the model.

        Args:
            name: input name.
            shape: sizes, or names of variable sizes.
            dtype: element type, such as FLOAT.
        """
        self.inputs.append(Value(name, dtype, shape))
        return name

    def output(
        self, name: str, shape: Shape, operator: str, *inputs: str, dtype: int = FLOAT, **attributes: Any
    ) -> str:
        """Add an operator and use its result as a model output.

        Args:
            name: output name.
            shape: sizes, or names of variable sizes.
            operator: operator name.
            inputs: names of inputs.
            dtype: element type, such as FLOAT.
            attributes: the operator's attributes.
        """
        self.outputs.append(Value(name, dtype, shape))
        return self.add(operator, *inputs, name=name, **attributes)

    def add(self, operator: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        name = name or f"{operator}_{len(self.nodes)}"
        self._append(operator, inputs, [name], f"{name}:{operator}", attributes)
        return name

    def add_outputs(self, operator: str, *inputs: str, count: int, **attributes: Any) -> list[str]:
        """Add an operator with `count` results, and return their names."""
        names = [f"{inputs[0]}:{operator}_{number}" for number in range(count)]
        self._append(operator, inputs, names, f"{inputs[0]}:{operator}", attributes)
        return names

    def _append(
        self, operator: str, inputs: Sequence[str], outputs: Sequence[str], name: str, attributes: dict[str, Any]
    ) -> None:
        self.nodes.append(Node(operator, inputs, outputs, name, attributes.pop("domain", None), attributes))

    def include(self, graph: "Graph", prefix: str) -> list[str]:
        """Add another graph with the same inputs, and return the names of its outputs.

        Args:
            graph: the other graph.
            prefix: beginning of its names in this graph.
        """
        # An operator has an empty name in place of an optional input.
        shared = {"", *(value.name for value in graph.inputs)}

        def rename(names: Sequence[str]) -> list[str]:
            return [name if name in shared else prefix + name for name in names]

        self.nodes += [
            node._replace(input=rename(node.input), output=rename(node.output), name=prefix + node.name)
            for node in graph.nodes
        ]
        self.constants |= {prefix + name: value for name, value in graph.constants.items()}
        return rename([value.name for value in graph.outputs])

    def split(self, x: str, widths: Sequence[int]) -> list[str]:
        """Split x into pieces of these widths along the last axis."""
        return self.add_outputs("Split", x, self.numbers(*widths), count=len(widths), axis=-1)

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants[name] = value
        return name

    def numbers(self, *values: int) -> str:
        """Return a constant list of integers, int64 [n]."""
        return self.constant("numbers:" + ",".join(map(str, values)), np.array(values, np.int64))

    def number(self, value: float) -> str:
        return self.constant(f"number:{value!r}", np.array(value, np.float32))


def activation_nodes(graph: Graph, x: str, activation: str) -> str:
    if activation == "linear":
        return x
    if activation.startswith("gelu"):
        return graph.add("Gelu", x, approximate="tanh" if activation == "gelu_tanh" else "none")
    return graph.add({"relu": "Relu", "tanh": "Tanh"}[activation], x)


def assemble(graph: Graph, external: Mapping[str, Mapping[str, str]] | None = None) -> bytes:
    """Return the graph as a model.

    Args:
        external: constants to store without values, with their entries of external_data; see
            runners.make_runner.
    """
    locations = external or {}
    constants = (encode_constant(name, value, locations.get(name)) for name, value in graph.constants.items())
    domains = sorted({node.domain or "" for node in graph.nodes} | {""})
    opsets = {domain: 1 if domain else OPSET for domain in domains}
    return encode_model(graph.nodes, constants, graph.inputs, graph.outputs, IR_VERSION, opsets)


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
        fields = [*(_text(1, name) for name in self.input), *(_text(2, name) for name in self.output)]
        fields += [_text(3, self.name), _text(4, self.op_type)]
        fields += [bytes_field(5, _attribute(name, value)) for name, value in sorted(self.attributes.items())]
        return b"".join(fields) + (_text(7, self.domain) if self.domain is not None else b"")


class Value(NamedTuple):
    """An input or output of a graph: its name, element type and shape."""

    name: str
    element_type: int
    shape: Shape

    def encode(self) -> bytes:
        sizes = (_text(2, size) if isinstance(size, str) else integer_field(1, size) for size in self.shape)
        shape = bytes_field(2, b"".join(bytes_field(1, size) for size in sizes))
        return _text(1, self.name) + bytes_field(2, bytes_field(1, integer_field(1, self.element_type) + shape))


def encode_constant(name: str, value: np.ndarray, location: Mapping[str, str] | None = None) -> bytes:
    """Return a constant as a TensorProto.

    Args:
        location: entries of external_data; if None, the values are part of the result.
    """
    head = b"".join(integer_field(1, size) for size in value.shape)
    head += integer_field(2, _ELEMENT_TYPES[value.dtype.name]) + _text(8, name)
    if location is None:
        # The format is little-endian.
        return head + bytes_field(9, value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes())
    entries = (bytes_field(13, _text(1, key) + _text(2, text)) for key, text in location.items())
    return head + b"".join(entries) + integer_field(14, _EXTERNAL)


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
    fields = [bytes_field(1, node.encode()) for node in nodes]
    fields.append(_text(2, "bert"))
    fields += [bytes_field(5, constant) for constant in constants]
    fields += [bytes_field(11, value.encode()) for value in inputs]
    fields += [bytes_field(12, value.encode()) for value in outputs]
    graph = b"".join(fields)
    versions = (bytes_field(8, _text(1, domain) + integer_field(2, version)) for domain, version in opsets.items())
    return b"".join([integer_field(1, ir_version), _text(2, "bert_cli"), bytes_field(7, graph), *versions])


def _attribute(name: str, value: Any) -> bytes:
    """Return an AttributeProto for a float, an int, a text or a list of integers."""
    if isinstance(value, float):
        return _text(1, name) + field_key(2, FIXED32) + struct.pack("<f", value) + integer_field(20, _ATTRIBUTE_FLOAT)
    if isinstance(value, int):
        return _text(1, name) + integer_field(3, value) + integer_field(20, _ATTRIBUTE_INT)
    if isinstance(value, str):
        return _text(1, name) + _text(4, value) + integer_field(20, _ATTRIBUTE_STRING)
    return _text(1, name) + b"".join(integer_field(8, number) for number in value) + integer_field(20, _ATTRIBUTE_INTS)


def _text(field: int, text: str) -> bytes:
    return bytes_field(field, text.encode())
