"""Adapters in the encoder: their places, gradients, and sums."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.model.lora import LORA_TARGETS, Lora
from bert_cli.weights.variables import LORA_A, LORA_B, is_lora_variable

LORA = Lora(3, 6.0, ("query", "output"))


def test_targets_are_scopes_of_layers():
    every = Lora(1, 1.0, tuple(LORA_TARGETS))
    assert every.applies_to("bert/encoder/layer_11/attention/self/key")
    assert every.applies_to("bert/encoder/layer_0/intermediate/dense")
    assert not LORA.applies_to("bert/encoder/layer_0/attention/output/dense")
    assert not every.applies_to("bert/pooler/dense")
    assert not every.applies_to("bert/encoder/embedding_hidden_mapping_in")
    assert LORA.scale == 2.0


@pytest.fixture
def encoder(tiny_config):
    """An encoder with adapters that change its outputs, float32."""
    model = BertEncoder(tiny_config(), seed=1, lora=LORA)
    random = np.random.default_rng(0)
    for name, variable in named_weights(model).items():
        if name.endswith(LORA_B):
            variable.assign(random.normal(0, 0.3, variable.shape))
    return model


def test_new_adapters_change_nothing(tiny_config, batch_of):
    batch = batch_of([7, 3, 5], 7)
    inputs = {name: batch[name] for name in ("input_word_ids", "input_mask", "input_type_ids")}
    plain, adapted = BertEncoder(tiny_config(), seed=1), BertEncoder(tiny_config(), seed=1, lora=LORA)
    np.testing.assert_array_equal(adapted(inputs)["sequence_output"], plain(inputs)["sequence_output"])
    names = {name for name in named_weights(adapted) if is_lora_variable(name)}
    assert names == {
        f"bert/encoder/layer_{layer}/{scope}/kernel{ending}"
        for layer in range(2)
        for scope in ("attention/self/query", "output/dense")
        for ending in (LORA_A, LORA_B)
    }
    assert named_weights(plain).keys() == named_weights(adapted).keys() - names


def test_sums_give_the_same_outputs(encoder, tiny_config, batch_of):
    batch = batch_of([7, 3, 5], 7)
    inputs = {name: batch[name] for name in ("input_word_ids", "input_mask", "input_type_ids")}
    weights = named_weights(encoder)
    merged = BertEncoder(tiny_config(), seed=2)
    for name, variable in named_weights(merged).items():
        value = weights[name].numpy()
        if f"{name}{LORA_A}" in weights:
            value = value + 2.0 * weights[f"{name}{LORA_A}"].numpy() @ weights[f"{name}{LORA_B}"].numpy()
        variable.assign(value)
    for packed in (False, True):
        outputs, expected = encoder(inputs, packed=packed), merged(inputs, packed=packed)
        np.testing.assert_allclose(outputs["sequence_output"], expected["sequence_output"], atol=1e-6)


def test_gradients_are_those_of_the_sum(encoder, tiny_config, batch_of):
    """The sum W = K + s A B has the gradient dW; A has s dW Bᵀ and B has s Aᵀ dW."""
    batch = batch_of([7, 3, 5], 7)
    inputs = {name: tf.constant(batch[name]) for name in ("input_word_ids", "input_mask", "input_type_ids")}
    weights = named_weights(encoder)
    name = "bert/encoder/layer_1/attention/self/query/kernel"
    watched = [weights[name].value, weights[f"{name}{LORA_A}"].value, weights[f"{name}{LORA_B}"].value]

    @tf.function
    def gradients():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(encoder(inputs, training=True, seed=tf.constant([1, 2]))["pooled_output"]))
        return tape.gradient(loss, watched)

    of_sum, of_a, of_b = (value.numpy() for value in gradients())
    np.testing.assert_allclose(of_a, 2.0 * of_sum @ watched[2].numpy().T, atol=1e-5)
    np.testing.assert_allclose(of_b, 2.0 * watched[1].numpy().T @ of_sum, atol=1e-5)


def test_frozen_layers_have_the_sums(encoder, tiny_config, batch_of):
    batch = batch_of([7, 3, 5], 7)
    inputs = {name: batch[name] for name in ("input_word_ids", "input_mask", "input_type_ids")}
    expected = encoder(inputs)["sequence_output"]
    weights = {name: variable.numpy() for name, variable in named_weights(encoder).items()}
    fast = BertEncoder(tiny_config(), compute_dtype="bfloat16", seed=2, lora=LORA)
    for name, variable in named_weights(fast).items():
        variable.assign(weights[name])
    fast.freeze_for_inference()
    outputs = tf.function(lambda batch: fast(batch)["sequence_output"])(inputs)
    np.testing.assert_allclose(outputs, expected, atol=0.1)
