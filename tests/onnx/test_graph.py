"""Graphs that are built one operator at a time, and run."""

import numpy as np
import pytest
from onnx import TensorProto

from bert_cli.onnx.graph import Graph, activation_nodes, assemble
from bert_cli.onnx.runners import make_runner


def test_an_assembled_graph_runs():
    graph = Graph()
    x = graph.input("x", ("rows", 4), TensorProto.FLOAT)
    left, right = graph.split(x, [1, 3])
    total = graph.add("Add", right, graph.constant("bias", np.array([1, 2, 3], np.float32)))
    graph.output("y", ("rows", 3), "Mul", left, total)
    run = make_runner(assemble(graph))
    assert run({"x": np.array([[2, 1, 1, 1]], np.float32)})["y"].tolist() == [[4, 6, 8]]


def test_results_are_named_by_operator_and_number():
    graph = Graph()
    assert graph.add("Neg", "x") == "Neg_0"
    assert graph.add("Neg", "Neg_0", name="y") == "y"
    assert graph.add_outputs("Split", "y", count=2) == ["y:Split_0", "y:Split_1"]


def test_equal_numbers_are_one_constant():
    graph = Graph()
    assert graph.numbers(0, -1) == graph.numbers(0, -1) == "numbers:0,-1"
    assert graph.number(0.5) == "number:0.5"
    assert {name: value.tolist() for name, value in graph.constants.items()} == {
        "numbers:0,-1": [0, -1],
        "number:0.5": 0.5,
    }


def test_external_constants_have_no_values_in_the_model():
    graph = Graph()
    x = graph.input("x", (1024,), TensorProto.FLOAT)
    graph.output("y", (1024,), "Add", x, graph.constant("large", np.ones(1024, np.float32)))
    whole, small = assemble(graph), assemble(graph, {"large": {"location": "memory"}})
    assert len(whole) - len(small) > 4000
    run = make_runner(small, {"large": np.full(1024, 2, np.float32)})
    assert run({"x": np.ones(1024, np.float32)})["y"].tolist() == [3.0] * 1024


@pytest.mark.parametrize(
    ("activation", "expected"),
    [
        ("linear", [-1, 1]),
        ("relu", [0, 1]),
        ("tanh", [-0.761594, 0.761594]),
        ("gelu_erf", [-0.158655, 0.841345]),  # x Φ(x)
        ("gelu_tanh", [-0.158808, 0.841192]),
    ],
)
def test_activations(activation, expected):
    graph = Graph()
    x = activation_nodes(graph, graph.input("x", (2,), TensorProto.FLOAT), activation)
    graph.output("y", (2,), "Identity", x)
    run = make_runner(assemble(graph))
    assert run({"x": np.array([-1, 1], np.float32)})["y"].tolist() == pytest.approx(expected, abs=1e-5)
