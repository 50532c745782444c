"""The exported int8 graph: of standard operators, and of padded batches as of single texts."""

import numpy as np
import pytest

from bert_cli.base.head_types import CLASSIFIER, ENCODER, MEAN, HeadSpec
from bert_cli.base.spec import INPUTS
from bert_cli.onnx.exported import build
from bert_cli.onnx.int8 import Int8Bert, PaddedInt8Bert, quantized_columns
from bert_cli.onnx.models import encoder_runner
from bert_cli.onnx.session import make_runner
from tests.onnx.test_models import batch, likeness, oracle, weights_of


def padded(inputs: dict[str, np.ndarray], more: int) -> dict[str, np.ndarray]:
    """The same texts with `more` places behind them, which the mask leaves out."""
    return {name: np.pad(values, ((0, 0), (0, more))) for name, values in inputs.items()}


def test_quantized_columns():
    values, scales = quantized_columns(np.array([[1.0, -0.5], [-2.0, 0.25]], np.float32), 4)
    assert values.tolist() == [[2, -4], [-4, 2]]
    assert scales.tolist() == [0.5, 0.125]


@pytest.mark.parametrize("act", ["gelu", "relu", "tanh"])
def test_exported_int8_ignores_padding(act):
    config, plain, weights = weights_of(hidden_act=act)
    made = build(weights, config, HeadSpec(ENCODER), {}, PaddedInt8Bert)
    assert {node.domain for node in made.graph.node} == {""}
    assert [each.name for each in made.graph.input] == list(INPUTS)
    run, inputs = make_runner(made.SerializeToString()), batch()
    wanted = oracle(plain, weights, inputs)
    for more in (0, 5):
        found = run(padded(inputs, more))
        assert likeness(found["sequence_output"][:, :12], wanted["encoder_outputs"][-1]) > 0.999
        assert likeness(found["pooled_output"], wanted["pooled_output"]) > 0.995


def test_exported_int8_is_nearly_the_running_one():
    config, _, weights = weights_of()
    inputs = batch()
    run = make_runner(build(weights, config, HeadSpec(ENCODER), {}, PaddedInt8Bert).SerializeToString())
    unpadded = encoder_runner(Int8Bert, weights, config, [3])(inputs)["state_0"]
    assert likeness(run(inputs)["sequence_output"], unpadded) > 0.999


def test_exported_mean_leaves_padding_out():
    config, plain, weights = weights_of()
    weights |= {"output_weights": np.eye(3, 64, dtype=np.float32), "output_bias": np.zeros(3, np.float32)}
    head = HeadSpec(CLASSIFIER, 3, MEAN, activation="sigmoid")
    run = make_runner(build(weights, config, head, {}, PaddedInt8Bert).SerializeToString())
    inputs = batch()
    wanted = oracle(plain, weights, inputs)["encoder_outputs"][-1].mean(axis=1)[:, :3]
    np.testing.assert_allclose(run(padded(inputs, 4))["probabilities"], 1 / (1 + np.exp(-wanted)), atol=0.02)
