"""Encoded models have the same bytes as those from onnx.helper."""

import numpy as np
import pytest
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from bert_cli.onnx.graph import FLOAT, INT32, INT64, Node, Value, encode_constant, encode_model

ATTRIBUTES = {"axis": -1, "epsilon": 1e-12, "keepdims": 0, "perm": [0, 2, 1, 3], "approximate": "tanh", "to": 1 << 40}


def test_element_types():
    assert FLOAT == TensorProto.FLOAT
    assert INT32 == TensorProto.INT32
    assert INT64 == TensorProto.INT64
    assert AttributeProto.INTS == 7


@pytest.mark.parametrize("attributes", [{}, ATTRIBUTES])
@pytest.mark.parametrize("domain", [None, "com.microsoft"])
def test_nodes(attributes, domain):
    node = Node("Gelu", ("x", "", "größe"), ["y"], "y:Gelu", domain, attributes)
    expected = helper.make_node("Gelu", ["x", "", "größe"], ["y"], name="y:Gelu", domain=domain, **attributes)
    assert node.encode() == expected.SerializeToString(deterministic=True)


@pytest.mark.parametrize("shape", [(), ("batch", 300), ("tokens",)])
def test_inputs(shape):
    expected = helper.make_tensor_value_info("x", TensorProto.INT32, shape)
    assert Value("x", INT32, shape).encode() == expected.SerializeToString(deterministic=True)


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)])
def test_constants(dtype, shape):
    value = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    expected = numpy_helper.from_array(value, "w")
    assert encode_constant("w", value) == expected.SerializeToString(deterministic=True)
    assert encode_constant("w", value.T.copy().T) == expected.SerializeToString(deterministic=True)


def test_external_constants():
    value = np.zeros((2, 3), np.float32)
    expected = TensorProto(name="w", data_type=1, dims=value.shape, data_location=TensorProto.EXTERNAL)
    expected.external_data.add(key="location", value="memory")
    assert encode_constant("w", value, {"location": "memory"}) == expected.SerializeToString(deterministic=True)


def test_models():
    node, value = Node("Relu", ["x"], ["y"], "y:Relu", None, {}), np.ones(2, np.float32)
    inputs, outputs = [Value("x", FLOAT, ("n",))], [Value("y", FLOAT, ("n",))]
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"], name="y:Relu")],
        "bert",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])],
        [numpy_helper.from_array(value, "w")],
    )
    opsets = {"": 20, "com.microsoft": 1}
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    expected = helper.make_model(graph, opset_imports=imports, producer_name="bert_cli", ir_version=9)
    encoded = encode_model([node], [encode_constant("w", value)], inputs, outputs, 9, opsets)
    assert encoded == expected.SerializeToString(deterministic=True)
