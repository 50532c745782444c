"""Learning rates in a run with ten steps, two of them warmup; test_adamw also tests linear rates."""

import math

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.training.optimizers.schedule import learning_rate

PEAK, STEPS, WARMUP = 0.5, 10, 2
WANTED = {
    "linear": [0.0, 0.25, *(0.5 * (1 - step / 10) for step in range(2, 10)), 0.0, 0.0],
    "cosine": [0.0, 0.25, *(0.25 * (1 + math.cos(math.pi * (step - 2) / 8)) for step in range(2, 10)), 0.0, 0.0],
    "constant": [0.0, 0.25] + 10 * [0.5],
}


@pytest.mark.parametrize("schedule", WANTED)
def test_rates(schedule):
    actual = learning_rate(
        tf.range(12, dtype=tf.int64), TrainingHyperparameters(STEPS, WARMUP, PEAK, 1, 0, lr_schedule=schedule)
    )
    np.testing.assert_allclose(actual, WANTED[schedule], atol=1e-7)


def test_cosine_begins_at_the_peak_and_is_half_in_the_middle():
    rates = learning_rate(tf.constant([2, 6]), TrainingHyperparameters(STEPS, WARMUP, PEAK, 1, 0, lr_schedule="cosine"))
    np.testing.assert_allclose(rates, [0.5, 0.25], rtol=1e-6)
    assert (
        float(learning_rate(tf.constant(0), TrainingHyperparameters(STEPS, 0, PEAK, 1, 0, lr_schedule="cosine"))) == 0.5
    )


@pytest.mark.parametrize("schedule", WANTED)
def test_warmup_may_be_the_whole_run(schedule):
    rates = learning_rate(tf.range(3, dtype=tf.int64), TrainingHyperparameters(2, 2, PEAK, 1, 0, lr_schedule=schedule))
    assert np.isfinite(rates).all()
    np.testing.assert_allclose(rates[:2], [0.0, 0.25])


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_optimizer_uses_schedule_and_decay(decay):
    weight = tf.Variable([2.0])
    updates = TrainingHyperparameters(STEPS, 0, PEAK, 1, 0, weight_decay=decay, lr_schedule="constant")
    optimizer = AdamWeightDecay({"kernel": weight}, updates)
    for _ in range(2):
        _, rate = optimizer.apply({"kernel": tf.zeros([1])})
        assert float(rate) == PEAK
    np.testing.assert_allclose(weight, [2.0 * (1 - PEAK * decay) ** 2], rtol=1e-6)
    np.testing.assert_allclose(np.exp(optimizer.log_decay), (1 - PEAK * decay) ** 2, rtol=1e-6)
