"""Builder of an ONNX graph, one operator at a time.

Operators use the forms that onnxruntime fuses and quantizes: two-dimensional constants as second
factors in MatMul, and LayerNormalization and Gelu as single operators (opset 20).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bert_cli.onnx.protobuf import FLOAT, INT64, Node, Shape, Value, encode_constant, encode_model

OPSET, IR_VERSION = 20, 9  # the newest versions that onnxruntime 1.17 can read
TEXTS = ("batch", "length")  # shape of token ids


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
            dtype: element type, a number from onnx.protobuf.
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
            dtype: element type, a number from onnx.protobuf.
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


def activate(graph: Graph, x: str, activation: str) -> str:
    if activation == "linear":
        return x
    if activation.startswith("gelu"):
        return graph.add("Gelu", x, approximate="tanh" if activation == "gelu_tanh" else "none")
    return graph.add({"relu": "Relu", "tanh": "Tanh"}[activation], x)


def assemble(graph: Graph, external: Mapping[str, Mapping[str, str]] | None = None) -> bytes:
    """Return the graph as a model.

    Args:
        graph: the graph.
        external: constants to store without values, with their entries of external_data; see
            session.make_runner.
    """
    locations = external or {}
    constants = (encode_constant(name, value, locations.get(name)) for name, value in graph.constants.items())
    domains = sorted({node.domain or "" for node in graph.nodes} | {""})
    opsets = {domain: 1 if domain else OPSET for domain in domains}
    return encode_model(graph.nodes, constants, graph.inputs, graph.outputs, IR_VERSION, opsets)
