"""Predictions in bfloat16 from weights that stay as they are: the same as from weights that change, to rounding."""

import gc
import weakref

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.model.encoder import BertEncoder
from bert_cli.tf_internals import onednn

pytestmark = pytest.mark.skipif(not onednn.is_available(tf.bfloat16), reason="this processor has no units for bfloat16")
LENGTHS = [9, 4, 9, 1]


def outputs(encoder, inputs, **options):
    """Return the encoder's outputs from a graph that is traced now, as for predictions."""
    return tf.function(lambda batch: encoder(batch, **options), autograph=False)(inputs)


def encoders_of(tiny_config, **changes):
    """(with fixed weights, with the same that may change, with the same in float32)"""
    config = tiny_config(**changes)
    encoders = [BertEncoder(config, dtype, seed=7) for dtype in ("bfloat16", "bfloat16", "float32")]
    for encoder in encoders:  # far enough from zero that each part of a layer shows
        for number, variable in enumerate(encoder.trainable_variables):
            noise = np.random.default_rng(number).normal(size=variable.shape)
            variable.assign(variable.value + 0.3 * noise.astype(np.float32))
    encoders[0].freeze_for_inference()
    return encoders


def assert_as_near(found, other, exact):
    """`found` is about as near to the result in float32 as `other` is: what norms multiply with is rounded, too."""
    found, other, exact = (np.asarray(values) for values in (found, other, exact))
    assert found.shape == other.shape
    assert found.dtype == other.dtype == np.float32
    far, usual = (np.abs(values - exact) for values in (found, other))
    assert far.mean() < 3 * usual.mean() + 1e-4
    assert far.max() < 4 * usual.max() + 1e-3
    assert usual.mean() < 0.02 * np.abs(exact).max()


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    "gelu", ["gelu", "gelu_new", *(pytest.param(name, marks=pytest.mark.slow) for name in ("relu", "tanh"))]
)
def test_outputs_are_those_of_weights_that_change(tiny_config, batch_of, packed, gelu):
    inputs = batch_of(LENGTHS, 9)
    real = np.asarray(inputs["input_mask"])[:, :, np.newaxis]
    found = [
        outputs(each, inputs, packed=packed, return_attention=True)
        for each in encoders_of(tiny_config, hidden_act=gelu)
    ]
    assert_as_near(*(each["pooled_output"] for each in found))
    for name, weight in (("encoder_outputs", real), ("attention_probs", real[:, np.newaxis])):
        for three in zip(*(each[name] for each in found), strict=True):
            assert_as_near(*(values * weight for values in three))


def test_the_first_token_alone(tiny_config, batch_of):
    inputs = batch_of(LENGTHS, 9)
    found = [outputs(each, inputs, packed=True, pooled_only=True) for each in encoders_of(tiny_config)]
    for name in ("pooled_output", "first_output"):
        assert_as_near(*(each[name] for each in found))


def test_each_layer_has_its_own_weights_and_a_scale_that_is_no_power_of_two(tiny_config, batch_of):
    sizes = {"hidden_size": 36, "num_attention_heads": 3, "num_hidden_layers": 4}
    inputs = batch_of(LENGTHS, 9)
    assert_as_near(
        *(outputs(each, inputs, packed=True)["sequence_output"] for each in encoders_of(tiny_config, **sizes))
    )


def test_what_is_traced_later_has_later_weights(tiny_config, batch_of):
    inputs = batch_of(LENGTHS, 9)
    encoder, other, exact = encoders_of(tiny_config)
    before = outputs(encoder, inputs, packed=True)["sequence_output"]
    for each in (encoder, other, exact):
        for variable in each.transformer_layers[-1].trainable_variables:
            variable.assign(variable.value * 1.5)
    wanted = [outputs(each, inputs, packed=True)["sequence_output"] for each in (other, exact)]
    assert np.abs(before - wanted[0]).max() > 0.5
    encoder.freeze_for_inference()
    assert_as_near(outputs(encoder, inputs, packed=True)["sequence_output"], *wanted)
    encoder.freeze_for_inference(False)
    np.testing.assert_array_equal(outputs(encoder, inputs, packed=True)["sequence_output"], wanted[0])


def test_training_computes_with_the_weights_as_they_are(tiny_config, batch_of):
    encoder, other, _ = encoders_of(tiny_config)
    seed = tf.constant([1, 2])
    found, wanted = (
        outputs(each, batch_of(LENGTHS, 9), packed=True, training=True, seed=seed)["sequence_output"]
        for each in (encoder, other)
    )
    np.testing.assert_array_equal(found, wanted)


def test_other_precisions_stay_as_they_are(tiny_config, batch_of):
    encoder = BertEncoder(tiny_config(), seed=7)
    before = outputs(encoder, batch_of(LENGTHS, 9), packed=True)["sequence_output"]
    encoder.freeze_for_inference()
    np.testing.assert_array_equal(outputs(encoder, batch_of(LENGTHS, 9), packed=True)["sequence_output"], before)


def test_a_graph_of_predictions_goes_with_its_model(tiny_config, batch_of):
    """Otherwise each run of a sweep would leave its weights in memory."""

    def traced():
        encoder = encoders_of(tiny_config)[0]
        function = tf.function(lambda batch: encoder(batch, packed=True), autograph=False)
        return weakref.ref(function.get_concrete_function(batch_of(LENGTHS, 9)).graph)

    graph = traced()
    gc.collect()
    assert graph() is None
