"""Heads on states with numbers that are small enough to check by hand."""

import numpy as np
import pytest
from onnx import TensorProto

from bert_cli.base.head_types import HEAD_INPUTS
from bert_cli.base.spec import INPUTS
from bert_cli.model.config import BertConfig
from bert_cli.onnx.bert import FLAT, ONE_LENGTH, Bert
from bert_cli.onnx.graph import Graph, assemble
from bert_cli.onnx.heads import TEXT_ROWS, first, masked_words, mean, next_sentence, pooler_output
from bert_cli.onnx.runners import make_runner

STATES = np.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], np.float32)  # [B, S, H]
POOLER = {"bert/pooler/dense/kernel": np.eye(2, dtype=np.float32), "bert/pooler/dense/bias": np.zeros(2, np.float32)}


def compute(add_head, tensors=None, form=ONE_LENGTH, **inputs) -> list:
    """Return the result of a function that adds a head to a graph with the input `x`."""
    graph = Graph()
    bert = Bert(graph, tensors or {}, BertConfig(3, 2, 1, 1, hidden_act="linear"), form)
    fed = {"x": STATES} | inputs
    types = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32, "int64": TensorProto.INT64}
    for name, values in fed.items():
        graph.input(name, [f"{name}:{axis}" for axis in range(values.ndim)], types[values.dtype.name])
    graph.output("y", ["rows", "columns"], "Identity", add_head(bert))
    return make_runner(assemble(graph))(fed)["y"].tolist()


def test_every_head_input_is_computed():
    assert set(TEXT_ROWS) == set(HEAD_INPUTS.values())


def test_first_rows():
    assert compute(lambda bert: first(bert, "x")) == [[1, 2], [5, 6]]


def test_first_rows_without_padding():
    rows = np.array([[0, 0], [1, 2]])
    assert compute(lambda bert: first(bert, "x"), form=FLAT, x=STATES.reshape(4, 2)[:3], rows=rows) == [[1, 2], [3, 4]]


def test_pooler():
    expected = [[np.tanh(1), np.tanh(2)], [np.tanh(5), np.tanh(6)]]
    np.testing.assert_allclose(compute(lambda bert: pooler_output(bert, "x"), POOLER), expected, rtol=1e-5)


def test_means_skip_padding():
    mask = {INPUTS[1]: np.array([[1, 1], [1, 0]], np.int32)}
    assert compute(lambda bert: mean(bert, "x"), **mask) == [[2, 3], [5, 6]]


def test_next_sentence():
    tensors = POOLER | {
        "cls/seq_relationship/output_weights": np.array([[1, 0], [1, 1]], np.float32),
        "cls/seq_relationship/output_bias": np.array([0, 1], np.float32),
    }
    expected = [[np.tanh(a), np.tanh(a) + np.tanh(b) + 1] for a, b in ((1, 2), (5, 6))]
    np.testing.assert_allclose(compute(lambda bert: next_sentence(bert, "x"), tensors), expected, rtol=1e-5)


def test_masked_words():
    scope = "cls/predictions"
    tensors = {
        f"{scope}/transform/dense/kernel": np.eye(2, dtype=np.float32),
        f"{scope}/transform/dense/bias": np.zeros(2, np.float32),
        f"{scope}/transform/LayerNorm/gamma": np.ones(2, np.float32),
        f"{scope}/transform/LayerNorm/beta": np.zeros(2, np.float32),
        f"{scope}/output_bias": np.array([0, 0, 9], np.float32),
        "bert/embeddings/word_embeddings": np.array([[1, 0], [0, 1], [0, 0]], np.float32),
    }
    places = np.array([[1, 0], [0, 1]])
    # A normalized pair of numbers is (-1, 1).
    logits = compute(lambda bert: masked_words(bert, "x", "places"), tensors, places=places)
    np.testing.assert_allclose(logits, [[-1, 1, 9], [-1, 1, 9]], atol=1e-4)


@pytest.mark.parametrize("form", [ONE_LENGTH, FLAT])
def test_states_are_padded_only_if_they_are_flat(form):
    assert (Bert(Graph(), {}, BertConfig(1, 1, 1, 1), form).pad("x") == "x") == (form is ONE_LENGTH)
