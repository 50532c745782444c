"""Adam with bias correction (Kingma & Ba, 2015, with decoupled decay), compared with NumPy float64."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters

NAMES = ("kernel", "bias")


def test_updates_equal_the_papers():
    rng = np.random.default_rng(2)
    values = {name: rng.normal(size=(5, 3)).astype(np.float32) for name in NAMES}
    variables = {name: tf.Variable(value) for name, value in values.items()}
    optimizer = AdamWeightDecay(variables, TrainingHyperparameters(10, 0, 0.01, 1, 0, bias_correction=True))
    state = {name: (value.astype(np.float64), 0.0, 0.0) for name, value in values.items()}
    for step in range(8):
        gradients = {name: 1e-3 * rng.normal(size=(5, 3)) for name in NAMES}  # small: nothing is clipped
        optimizer.apply({name: tf.constant(gradient, tf.float32) for name, gradient in gradients.items()})
        rate = 0.01 * (1 - step / 10)
        for name, (w, m, v) in state.items():
            m, v = 0.9 * m + 0.1 * gradients[name], 0.999 * v + 0.001 * gradients[name] ** 2
            update = m / (1 - 0.9 ** (step + 1)) / (np.sqrt(v / (1 - 0.999 ** (step + 1))) + 1e-6)
            decay = 0.01 * w if name == "kernel" else 0.0
            state[name] = (w - rate * (update + decay), m, v)
    for name, (w, _, _) in state.items():
        np.testing.assert_allclose(variables[name].numpy(), w, rtol=1e-4, atol=2e-6)


def test_first_step_has_the_length_of_the_rate():
    for corrected, length in ((True, 1.0), (False, 0.1 / 0.001**0.5)):
        variable = tf.Variable(tf.zeros([4]))
        optimizer = AdamWeightDecay(
            {"bias": variable}, TrainingHyperparameters(100, 0, 0.01, 1, 0, bias_correction=corrected)
        )
        optimizer.apply({"bias": tf.fill([4], 0.3)})
        np.testing.assert_allclose(variable.numpy(), -0.01 * length, rtol=1e-3)


def test_zero_rate_changes_nothing():
    variable = tf.Variable(tf.ones([2]))
    optimizer = AdamWeightDecay({"kernel": variable}, TrainingHyperparameters(10, 2, 0.01, 1, 0, bias_correction=True))
    optimizer.apply({"kernel": tf.ones([2])})
    assert variable.numpy() == pytest.approx([1.0, 1.0])
