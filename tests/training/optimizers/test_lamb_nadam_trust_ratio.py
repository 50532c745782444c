"""LAMB compared with the paper's Algorithm 2 in NumPy float64."""

import numpy as np
import pytest
import tensorflow as tf
from numpy_optimizer import clip_by_global_norm, global_norm, learning_rate

from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.training.optimizers.lamb_nadam import Lamb
from tests.training_states import moments_of

NAMES = ("bert/encoder/layer_0/output/dense/kernel", "bert/encoder/layer_0/output/dense/bias", "output_weights")


def lamb_step(name, w, m, v, g, rate, count):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    update = (m / (1 - 0.9**count)) / (np.sqrt(v / (1 - 0.999**count)) + 1e-6)
    if "bias" not in name:
        update += 0.01 * w
        norms = np.linalg.norm(w), np.linalg.norm(update)
        update *= norms[0] / norms[1] if all(norms) else 1.0
    return w - rate * update, m, v


def test_updates_equal_the_papers():
    rng = np.random.default_rng(5)
    values = {name: rng.normal(size=(4, 3)).astype(np.float32) for name in NAMES}
    values["output_weights"] *= 0  # the ratio is 1 for a norm of 0
    variables = {name: tf.Variable(value) for name, value in values.items()}
    optimizer = Lamb(variables, TrainingHyperparameters(10, 2, 0.1, 1, 0))
    state = {name: (value.astype(np.float64), 0.0, 0.0) for name, value in values.items()}
    for step in range(6):
        gradients = {name: rng.normal(size=(4, 3)) for name in NAMES}
        optimizer.apply({name: tf.constant(g, tf.float32) for name, g in gradients.items()})
        clipped = clip_by_global_norm(gradients, global_norm(gradients))
        rate = learning_rate(step, 0.1, 10, 2)
        state = {name: lamb_step(name, *state[name], clipped[name], rate, step + 1) for name in NAMES}
    moments = moments_of(optimizer)
    for name, (w, m, v) in state.items():
        np.testing.assert_allclose(variables[name].numpy(), w, rtol=2e-5, atol=2e-6)
        np.testing.assert_allclose(moments[f"{name}/adam_m"], m, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(moments[f"{name}/adam_v"], v, rtol=1e-4, atol=1e-9)
    assert int(optimizer.step.numpy()) == 6


def test_larger_variable_takes_a_larger_step():
    small, large = tf.Variable(tf.ones([3])), tf.Variable(100.0 * tf.ones([3]))
    optimizer = Lamb({"small": small, "large": large}, TrainingHyperparameters(10, 0, 0.1, 1, 0))
    optimizer.apply({"small": tf.ones([3]), "large": tf.ones([3])})
    assert float(1.0 - small[0]) == pytest.approx(0.1, rel=1e-3)
    assert float(100.0 - large[0]) == pytest.approx(10.0, rel=1e-3)
