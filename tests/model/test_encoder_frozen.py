"""bfloat16 predictions from frozen weights equal those from variable weights, except for rounding."""

import gc
import itertools
import weakref

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.model.encoder import BertEncoder
from bert_cli.tf_internals import onednn

pytestmark = pytest.mark.skipif(not onednn.is_available(tf.bfloat16), reason="this processor has no units for bfloat16")
LENGTHS = [9, 4, 9, 1]


def outputs(encoder, inputs, **options):
    """Return the encoder's outputs from a newly traced graph, as in prediction."""
    return tf.function(lambda batch: encoder(batch, **options), autograph=False)(inputs)


def make_encoders(tiny_config, **changes):
    """Return three encoders with equal weights: frozen, variable, and variable in float32."""
    config = tiny_config(**changes)
    encoders = [BertEncoder(config, dtype, seed=7) for dtype in ("bfloat16", "bfloat16", "float32")]
    for encoder in encoders:  # values far from zero, so all parts of a layer matter
        for number, variable in enumerate(encoder.trainable_variables):
            noise = np.random.default_rng(number).normal(size=variable.shape)
            variable.assign(variable.value + 0.3 * noise.astype(np.float32))
    encoders[0].freeze_for_inference()
    return encoders


def assert_as_near(actual, variable, exact):
    """Assert that `actual` is approximately as close to `exact` as `variable` is.

    Frozen weights also round the factors of layer norms.
    """
    actual, variable, exact = (np.asarray(values) for values in (actual, variable, exact))
    assert actual.shape == variable.shape
    assert actual.dtype == variable.dtype == np.float32
    far, usual = (np.abs(values - exact) for values in (actual, variable))
    assert far.mean() < 3 * usual.mean() + 1e-4
    assert far.max() < 4 * usual.max() + 1e-3
    assert usual.mean() < 0.02 * np.abs(exact).max()


# Each form of gelu is a fused operator; other activations are separate.
@pytest.mark.parametrize(
    ("gelu", "packed"),
    [
        ("gelu", True),
        ("gelu_new", False),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in itertools.product(("gelu", "gelu_new", "relu", "tanh"), (True, False))
            if case not in (("gelu", True), ("gelu_new", False))
        ),
    ],
)
def test_outputs_equal_those_from_variable_weights(tiny_config, batch_of, packed, gelu):
    inputs = batch_of(LENGTHS, 9)
    real = np.asarray(inputs["input_mask"])[:, :, np.newaxis]
    actual = [
        outputs(encoder, inputs, packed=packed, return_attention=True)
        for encoder in make_encoders(tiny_config, hidden_act=gelu, num_hidden_layers=1)
    ]
    assert_as_near(*(result["pooled_output"] for result in actual))
    for name, weight in (("encoder_outputs", real), ("attention_probs", real[:, np.newaxis])):
        for three in zip(*(result[name] for result in actual), strict=True):
            assert_as_near(*(values * weight for values in three))


def test_only_the_first_token(tiny_config, batch_of):
    inputs = batch_of(LENGTHS, 9)
    encoders = make_encoders(tiny_config, num_hidden_layers=1)  # only the last layer computes less
    actual = [outputs(encoder, inputs, packed=True, pooled_only=True) for encoder in encoders]
    for name in ("pooled_output", "first_output"):
        assert_as_near(*(result[name] for result in actual))


def test_layers_have_separate_weights_and_a_scale_that_is_not_a_power_of_two(tiny_config, batch_of):
    sizes = {"hidden_size": 36, "num_attention_heads": 3, "num_hidden_layers": 2}
    inputs = batch_of(LENGTHS, 9)
    assert_as_near(
        *(outputs(encoder, inputs, packed=True)["sequence_output"] for encoder in make_encoders(tiny_config, **sizes))
    )


def test_graphs_traced_later_use_later_weights(tiny_config, batch_of):
    inputs = batch_of(LENGTHS, 9)
    encoder, variable_encoder, exact = make_encoders(tiny_config, num_hidden_layers=1)
    before = outputs(encoder, inputs, packed=True)["sequence_output"]
    for model in (encoder, variable_encoder, exact):
        for variable in model.transformer_layers[-1].trainable_variables:
            variable.assign(variable.value * 1.5)
    expected = [outputs(model, inputs, packed=True)["sequence_output"] for model in (variable_encoder, exact)]
    assert np.abs(before - expected[0]).max() > 0.5
    encoder.freeze_for_inference()
    assert_as_near(outputs(encoder, inputs, packed=True)["sequence_output"], *expected)
    encoder.freeze_for_inference(False)
    np.testing.assert_array_equal(outputs(encoder, inputs, packed=True)["sequence_output"], expected[0])


def test_training_uses_the_variable_weights(tiny_config, batch_of):
    encoder, variable_encoder, _ = make_encoders(tiny_config, num_hidden_layers=1)
    seed = tf.constant([1, 2])
    actual, expected = (
        outputs(model, batch_of(LENGTHS, 9), packed=True, training=True, seed=seed)["sequence_output"]
        for model in (encoder, variable_encoder)
    )
    np.testing.assert_array_equal(actual, expected)


def test_other_precisions_are_unchanged(tiny_config, batch_of):
    encoder = BertEncoder(tiny_config(num_hidden_layers=1), seed=7)
    before = outputs(encoder, batch_of(LENGTHS, 9), packed=True)["sequence_output"]
    encoder.freeze_for_inference()
    np.testing.assert_array_equal(outputs(encoder, batch_of(LENGTHS, 9), packed=True)["sequence_output"], before)


def test_prediction_graph_is_deleted_with_its_model(tiny_config, batch_of):
    """Otherwise, each run in a sweep would keep its weights in memory."""

    def traced():
        encoder = make_encoders(tiny_config, num_hidden_layers=1)[0]
        function = tf.function(lambda batch: encoder(batch, packed=True), autograph=False)
        return weakref.ref(function.get_concrete_function(batch_of(LENGTHS, 9)).graph)

    graph = traced()
    gc.collect()
    assert graph() is None
