"""The exported int8 graph: standard operators, and results that ignore padding."""

import numpy as np
import pytest

from bert_cli.base.head_types import CLASSIFIER, ENCODER, MEAN, HeadSpec
from bert_cli.base.spec import INPUTS
from bert_cli.onnx.exported import NetworkSource, build_exported_graph
from bert_cli.onnx.int8 import FLAT_INT8, PADDED_INT8, quantized_columns
from bert_cli.onnx.runners import encoder_runner, make_runner
from tests.onnx.test_runners import batch, likeness, random_model, reference_outputs


def with_padding(inputs: dict[str, np.ndarray], extra: int) -> dict[str, np.ndarray]:
    """Return the inputs with `extra` more columns of padding, which the mask excludes."""
    return {name: np.pad(values, ((0, 0), (0, extra))) for name, values in inputs.items()}


def test_quantized_columns():
    values, scales = quantized_columns(np.array([[1.0, -0.5], [-2.0, 0.25]], np.float32), 4)
    assert values.tolist() == [[2, -4], [-4, 2]]
    assert scales.tolist() == [0.5, 0.125]


@pytest.mark.parametrize("activation", ["gelu", "relu", "tanh"])
def test_exported_int8_ignores_padding(activation):
    config, config_dict, weights = random_model(hidden_act=activation)
    model = build_exported_graph([NetworkSource(weights, config, HeadSpec(ENCODER))], {}, PADDED_INT8)
    assert {node.domain for node in model.graph.node} == {""}
    assert [graph_input.name for graph_input in model.graph.input] == list(INPUTS)
    run, inputs = make_runner(model.SerializeToString()), batch()
    expected = reference_outputs(config_dict, weights, inputs)
    for extra in (0, 5):
        outputs = run(with_padding(inputs, extra))
        assert likeness(outputs["sequence_output"][:, :12], expected["encoder_outputs"][-1]) > 0.999
        assert likeness(outputs["pooled_output"], expected["pooled_output"]) > 0.995


def test_exported_int8_is_close_to_the_engine():
    config, _, weights = random_model()
    inputs = batch()
    run = make_runner(
        build_exported_graph([NetworkSource(weights, config, HeadSpec(ENCODER))], {}, PADDED_INT8).SerializeToString()
    )
    unpadded = encoder_runner(FLAT_INT8, weights, config, [3])(inputs)["state_0"]
    assert likeness(run(inputs)["sequence_output"], unpadded) > 0.999


def test_exported_mean_excludes_padding():
    config, config_dict, weights = random_model()
    weights |= {"output_weights": np.eye(3, 64, dtype=np.float32), "output_bias": np.zeros(3, np.float32)}
    head = HeadSpec(CLASSIFIER, 3, MEAN, activation="sigmoid")
    run = make_runner(build_exported_graph([NetworkSource(weights, config, head)], {}, PADDED_INT8).SerializeToString())
    inputs = batch()
    expected = reference_outputs(config_dict, weights, inputs)["encoder_outputs"][-1].mean(axis=1)[:, :3]
    np.testing.assert_allclose(run(with_padding(inputs, 4))["probabilities"], 1 / (1 + np.exp(-expected)), atol=0.02)
