"""Builder of an ONNX graph, one operator at a time.

Operators use the forms that onnxruntime fuses and quantizes: two-dimensional constants as second
factors in MatMul, and LayerNormalization and Gelu as single operators (opset 20).
"""

from collections.abc import Container, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 20, 9  # the newest versions that onnxruntime 1.17 can read
Shape = Sequence[str | int]
TEXTS = ("batch", "length")  # shape of token ids


class Graph:
    """Nodes, constants, inputs and outputs; methods return their result's name."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: Shape, dtype: int = TensorProto.INT64) -> str:
        """Add an input to the model.

        Args:
            name: input name.
            shape: sizes, or names of variable sizes.
            dtype: a number from TensorProto.
        """
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(
        self, name: str, shape: Shape, operator: str, *inputs: str, dtype: int = TensorProto.FLOAT, **attributes: Any
    ) -> str:
        """Add an operator and use its result as a model output.

        Args:
            name: output name.
            shape: sizes, or names of variable sizes.
            operator: operator name.
            inputs: names of inputs.
            dtype: a number from TensorProto.
            attributes: the operator's attributes.
        """
        self.outputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return self.add(operator, *inputs, name=name, **attributes)

    def add(self, operator: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        name = name or f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], name=f"{name}:{operator}", **attributes))
        return name

    def add_outputs(self, operator: str, *inputs: str, count: int, **attributes: Any) -> list[str]:
        """Add an operator with `count` results, and return their names."""
        names = [f"{inputs[0]}:{operator}_{number}" for number in range(count)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, name=f"{inputs[0]}:{operator}", **attributes))
        return names

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


def assemble(graph: Graph, external: Container[str] = ()) -> onnx.ModelProto:
    """Return the graph as a model.

    Args:
        graph: the graph.
        external: names of constants to store without values, see session.make_runner.
    """
    constants = [
        _external_tensor(name, value) if name in external else numpy_helper.from_array(value, name)
        for name, value in graph.constants.items()
    ]
    onnx_graph = helper.make_graph(graph.nodes, "bert", graph.inputs, graph.outputs, constants)
    domains = sorted({node.domain for node in graph.nodes} | {""})
    opsets = [helper.make_opsetid(domain, 1 if domain else OPSET) for domain in domains]
    model = helper.make_model(onnx_graph, opset_imports=opsets, producer_name="bert_cli")
    model.ir_version = IR_VERSION
    return model


def _external_tensor(name: str, value: np.ndarray) -> onnx.TensorProto:
    """Return a constant with values outside the model file."""
    dtype = helper.np_dtype_to_tensor_dtype(value.dtype)
    tensor = TensorProto(name=name, data_type=dtype, dims=value.shape, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="memory")
    return tensor
