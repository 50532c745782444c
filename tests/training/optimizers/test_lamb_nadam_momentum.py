"""Nadam compared with Keras, its products compared with a loop, its decay, and resuming from a checkpoint."""

import keras
import numpy as np
import tensorflow as tf

from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.training.optimizers.lamb_nadam import Nadam, momentum_products
from tests.training_states import moments_of

NAMES = ("dense/kernel", "dense/bias")


def values_of(seed: int, scale: float = 1.0) -> dict:
    rng = np.random.default_rng(seed)
    return {name: (scale * rng.normal(size=(4, 3))).astype(np.float32) for name in NAMES}


def make(values: dict, **options) -> Nadam:
    updates = TrainingHyperparameters(300, 0, 0.1, 1, 0, **options)
    return Nadam({name: tf.Variable(value) for name, value in values.items()}, updates)


def test_products_of_momenta():
    expected, product = [1.0], 1.0
    for count in range(1, 129):
        product *= 0.9 * (1 - 0.5 * 0.96**count)
        expected.append(product)
    np.testing.assert_allclose(momentum_products(), expected, rtol=1e-6)
    assert expected[-1] < 1e-11


def test_updates_equal_those_of_keras():
    """The steps exceed the table of products."""
    start = values_of(1)
    ours = make(start, weight_decay=0.0, lr_schedule="constant")
    theirs, variables = keras.optimizers.Nadam(0.1, epsilon=1e-6), [keras.Variable(start[name]) for name in NAMES]
    theirs.build(variables)
    both = tf.function(
        lambda *gradients: (
            ours.apply(dict(zip(NAMES, gradients, strict=True))),
            theirs.apply(list(gradients), variables),
        ),
        autograph=False,
    )
    for step in range(140):
        gradients = values_of(100 + step, 0.1)  # norms are below 1, so nothing is clipped
        both(*(tf.constant(gradients[name]) for name in NAMES))
        if step in (0, 1, 5, 139):
            for name, variable in zip(NAMES, variables, strict=True):
                np.testing.assert_allclose(ours.weights[name], variable.numpy(), rtol=2e-4, atol=2e-5)


def test_first_update_by_hand():
    """m̂ = μ₂·m/(1 − μ₁μ₂) + (1 − μ₁)·g/(1 − μ₁), v̂ = g², and only the kernel decays."""
    gradient, weight, rate = 0.2, 3.0, 0.1
    first, second = 0.9 * (1 - 0.5 * 0.96), 0.9 * (1 - 0.5 * 0.96**2)
    step = rate * (second * 0.1 * gradient / (1 - first * second) + gradient) / (gradient + 1e-6)
    optimizer = make({name: np.float32([weight]) for name in NAMES}, lr_schedule="constant")
    optimizer.apply({name: tf.constant([gradient]) for name in NAMES})
    np.testing.assert_allclose(optimizer.weights["dense/bias"], weight - step, rtol=1e-6)
    np.testing.assert_allclose(optimizer.weights["dense/kernel"], weight - step - rate * 0.01 * weight, rtol=1e-6)


def test_restored_run_is_bitwise_equal():
    saving = make(values_of(1))
    for step in range(5):
        saving.apply({name: tf.constant(value) for name, value in values_of(step).items()})
    saved = moments_of(saving)
    assert set(saved) == {f"{name}/{ending}" for name in NAMES for ending in ("adam_m", "adam_v")}
    restored = make({name: weight.numpy() for name, weight in saving.weights.items()})
    restored.restore(saved, 5)
    for step in range(5, 9):
        for optimizer in (saving, restored):
            optimizer.apply({name: tf.constant(value) for name, value in values_of(step).items()})
    for name in NAMES:
        assert saving.weights[name].numpy().tobytes() == restored.weights[name].numpy().tobytes()
