"""Learning rate factors per variable, and their effect in optimizers."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.model.encoder import WORDS
from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.training.optimizers.hyperparameters import (
    FROZEN_ENCODER,
    TrainingHyperparameters,
    is_frozen,
    layer_factors,
    rate_factors,
)
from bert_cli.training.optimizers.lamb_nadam import Lamb, Nadam
from tests.training_states import moments_of

NAMES = ["bert/embeddings/LayerNorm/beta", "bert/encoder/layer_1/output/dense/kernel", "hub/kernel", "output_weights"]
each_optimizer = pytest.mark.parametrize("make", [AdamWeightDecay, Lamb, Nadam])


def test_longest_prefix_decides():
    table = rate_factors(NAMES, {"bert/": 0.5, "bert/encoder/layer_1/": 0.25, "bert/encoder": 2.0})
    assert table == dict(zip(NAMES, (0.5, 0.25, 1.0, 1.0), strict=True))
    assert rate_factors(NAMES, {}) == dict.fromkeys(NAMES, 1.0)


def test_frozen_encoder():
    table = rate_factors(NAMES, FROZEN_ENCODER)
    assert table == dict(zip(NAMES, (0.0, 0.0, 0.0, 1.0), strict=True))
    assert is_frozen(NAMES[:3], table)
    assert not is_frozen(NAMES, table)
    assert not is_frozen(NAMES[:3], table | {NAMES[1]: 0.1})
    assert not is_frozen(NAMES[:3], {})


def run(make, factors, peak_rate=0.1, steps=4) -> dict:
    """Return a kernel's and a bias's weights and moments after some updates."""
    rng = np.random.default_rng(2)
    values = {name: rng.normal(size=(3, 2)).astype(np.float32) for name in ("kernel", "bias")}
    variables = {name: tf.Variable(value) for name, value in values.items()}
    optimizer = make(variables, TrainingHyperparameters(10, 2, peak_rate, 1, 0), factors)
    for _ in range(steps):
        gradients = {name: tf.constant(0.1 * rng.normal(size=(3, 2)), tf.float32) for name in values}
        # Use one global norm, so that untrained variables do not affect other variables.
        optimizer.apply({name: gradients[name] for name in optimizer.weights}, norm=tf.constant(0.5))
    return {name: variable.numpy() for name, variable in variables.items()} | moments_of(optimizer)


@each_optimizer
def test_factor_of_one_changes_nothing(make):
    plain, with_factor = run(make, None), run(make, {"kernel": 1.0})
    assert plain.keys() == with_factor.keys()
    assert all(plain[name].tobytes() == with_factor[name].tobytes() for name in plain)


@each_optimizer
def test_variable_with_factor_zero_is_constant_and_has_no_moments(make):
    plain, actual, start = run(make, None), run(make, {"kernel": 0.0}), run(make, None, steps=0)
    assert actual["kernel"].tobytes() == start["kernel"].tobytes()
    assert actual.keys() == plain.keys() - {"kernel/adam_m", "kernel/adam_v"}
    assert actual["bias"].tobytes() == plain["bias"].tobytes()


@each_optimizer
def test_factor_changes_the_rate_of_one_variable(make):
    """The factor also scales decay, so a factor of 0.25 equals a run with a quarter of the peak rate."""
    plain, actual, slow = run(make, None), run(make, {"kernel": 0.25}), run(make, None, peak_rate=0.025)
    assert np.abs(plain["kernel"] - slow["kernel"]).max() > 0.01
    np.testing.assert_allclose(actual["kernel"], slow["kernel"], rtol=1e-6)
    assert actual["bias"].tobytes() == plain["bias"].tobytes()


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_word_embeddings_without_a_gradient_decay_at_their_rate(factor):
    """`log_decay` belongs to rows that CompactEmbeddings omits, so it has the factor of the whole table."""
    words = tf.Variable(tf.ones([2]))
    optimizer = AdamWeightDecay({WORDS: words}, TrainingHyperparameters(10, 0, 0.5, 1, 0), {WORDS: factor})
    optimizer.apply({WORDS: tf.zeros([2])})
    np.testing.assert_allclose(words, 1 - 0.5 * factor * 0.01, rtol=1e-7)
    np.testing.assert_allclose(np.exp(optimizer.log_decay), 1 - 0.5 * factor * 0.01, rtol=1e-7)


def test_layers_by_hand():
    """Factors for two layers are d and d², d³ for the embeddings, and 1 for pooler and head."""
    names = [
        "bert/embeddings/LayerNorm/beta",
        "bert/encoder/layer_0/x",
        "bert/encoder/layer_1/x",
        "bert/pooler/dense/bias",
    ]
    names.append("output_weights")
    for decay, frozen, expected in (
        (0.5, None, (0.125, 0.25, 0.5, 1.0, 1.0)),
        (1.0, 0, (0.0, 1.0, 1.0, 1.0, 1.0)),
        (1.0, 1, (0.0, 0.0, 1.0, 1.0, 1.0)),
        (0.5, 1, (0.0, 0.0, 0.5, 1.0, 1.0)),
        (1.0, 2, (0.0, 0.0, 0.0, 1.0, 1.0)),
    ):
        assert tuple(rate_factors(names, layer_factors(2, decay, frozen)).values()) == expected


def test_the_tenth_layer_is_not_the_first():
    table = layer_factors(12, 1.0, 2)
    actual = rate_factors(["bert/encoder/layer_1/x", "bert/encoder/layer_10/x"], table)
    assert list(actual.values()) == [0.0, 1.0]
