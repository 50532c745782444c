"""Parts that every form of the network shares."""

import dataclasses

import numpy as np

from bert_cli.base.spec import INPUTS
from bert_cli.model.config import BertConfig
from bert_cli.onnx.bert import ONE_LENGTH, PADDED, WITH_ATTENTION, Bert, type_table
from bert_cli.onnx.graph import Graph, assemble
from bert_cli.onnx.runners import embedded_runner, make_runner
from tests.onnx.test_runners import batch, random_model


def test_missing_token_types_add_nothing():
    assert type_table(np.ones((1, 3))).tolist() == [[1, 1, 1], [0, 0, 0]]
    assert type_table(np.ones((3, 1))).tolist() == [[1], [1], [1]]


def test_queries_keys_and_values_lie_side_by_side():
    scope = "bert/encoder/layer_1/attention/self"
    tensors = {f"{scope}/{name}/bias": np.array([number]) for number, name in enumerate(("query", "key", "value"))}
    assert Bert(Graph(), tensors, BertConfig(1, 1, 1, 1)).projection(1, "bias").tolist() == [0, 1, 2]


def test_only_padded_keys_have_a_bias():
    graph = Graph()
    bert = Bert(graph, {}, BertConfig(1, 1, 1, 1), PADDED)
    graph.input(INPUTS[1], ("batch", "length"), 6)  # int32
    graph.output("bias", ("batch", 1, 1, "length"), "Identity", bert.key_bias())
    run = make_runner(assemble(graph))
    assert run({INPUTS[1]: np.array([[1, 0]], np.int32)})["bias"].tolist() == [[[[0, -10000]]]]
    for form in (ONE_LENGTH, WITH_ATTENTION):
        assert Bert(graph, {}, BertConfig(1, 1, 1, 1), form).key_bias() == ""


def test_attention_is_an_output_and_adds_up_to_one():
    config, _, weights = random_model()
    bert = Bert(Graph(), weights, config, WITH_ATTENTION)
    bert.states()
    outputs = embedded_runner(bert)(batch(rows=2, length=5))
    assert list(outputs) == ["attention_0", "attention_1", "attention_2"]
    assert outputs["attention_0"].shape == (2, 4, 5, 5)
    np.testing.assert_allclose(outputs["attention_2"].sum(axis=-1), 1, rtol=1e-5)


def test_forms_can_compute_other_layers():
    form = dataclasses.replace(ONE_LENGTH, add_layers=lambda bert: [bert.embed()])
    assert Bert(Graph(), {}, BertConfig(1, 1, 1, 1), form).states() == ["embedded"]
