"""Building an ONNX graph operator by operator.

Operators are written in the forms that onnxruntime fuses and quantizes: two-dimensional constants
as second factors of MatMul, LayerNormalization and Gelu as single operators (opset 20).
"""

from collections.abc import Container, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 20, 9  # the newest that onnxruntime 1.17 and later read
Shape = Sequence[str | int]
TEXTS = ("batch", "length")  # the shape of ids


class Graph:
    """Nodes, constants, inputs and outputs as they are added; each method returns the name of its
    result.
    """

    def __init__(self):
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: Shape, dtype: int = TensorProto.INT64) -> str:
        """An input of the model; dtype: a number of TensorProto."""
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(
        self, name: str, shape: Shape, kind: str, *inputs: str, dtype: int = TensorProto.FLOAT, **attributes: Any
    ) -> str:
        """Add an operator whose result is an output of the model."""
        self.outputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return self.add(kind, *inputs, name=name, **attributes)

    def add(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        name = name or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=f"{name}:{kind}", **attributes))
        return name

    def add_outputs(self, kind: str, *inputs: str, count: int, **attributes: Any) -> list[str]:
        """The same of an operator with `count` results."""
        names = [f"{inputs[0]}:{kind}_{number}" for number in range(count)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"{inputs[0]}:{kind}", **attributes))
        return names

    def split(self, x: str, widths: Sequence[int]) -> list[str]:
        """Parts of these widths along the last axis."""
        return self.add_outputs("Split", x, self.numbers(*widths), count=len(widths), axis=-1)

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants[name] = value
        return name

    def numbers(self, *values: int) -> str:
        """A list of whole numbers, int64 [n]."""
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
    """A model of what was added to the graph; external: constants without values, see
    session.make_runner.
    """
    constants = [
        _external_tensor(name, value) if name in external else numpy_helper.from_array(value, name)
        for name, value in graph.constants.items()
    ]
    made = helper.make_graph(graph.nodes, "bert", graph.inputs, graph.outputs, constants)
    domains = sorted({node.domain for node in graph.nodes} | {""})
    opsets = [helper.make_opsetid(domain, 1 if domain else OPSET) for domain in domains]
    model = helper.make_model(made, opset_imports=opsets, producer_name="bert_cli")
    model.ir_version = IR_VERSION
    return model


def _external_tensor(name: str, value: np.ndarray) -> onnx.TensorProto:
    """A constant with values outside of the model file."""
    dtype = helper.np_dtype_to_tensor_dtype(value.dtype)
    tensor = TensorProto(name=name, data_type=dtype, dims=value.shape, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="memory")
    return tensor
