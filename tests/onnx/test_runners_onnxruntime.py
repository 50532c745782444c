"""Graphs that need more memory than the machine has."""

import numpy as np
import onnx
import pytest

from bert_cli.onnx.runners import make_runner

NUM_ROWS = 4_000_000


def test_out_of_memory_raises_memory_error():
    value = onnx.helper.make_tensor_value_info
    float32 = onnx.TensorProto.FLOAT
    inputs, outputs = [value("x", float32, ["n", 1]), value("y", float32, [1, "m"])], [value("z", float32, ["n", "m"])]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "y"], ["z"])], "sum", inputs, outputs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)])
    model.ir_version = 9
    run = make_runner(model.SerializeToString())

    small = {"x": np.ones((2, 1), np.float32), "y": np.ones((1, 3), np.float32)}
    assert run(small)["z"].tolist() == [[2.0] * 3] * 2
    with pytest.raises(MemoryError):
        run({"x": np.ones((NUM_ROWS, 1), np.float32), "y": np.ones((1, NUM_ROWS), np.float32)})
