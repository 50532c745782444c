"""Learning rates in a run with ten steps, two of them warmup; test_adamw also tests linear rates."""

import dataclasses
import math

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.training.optimizers.schedule import Schedule

PEAK, STEPS, WARMUP = 0.5, 10, 2
WANTED = {
    "linear": [0.0, 0.25, *(0.5 * (1 - step / 10) for step in range(2, 10)), 0.0, 0.0],
    "cosine": [0.0, 0.25, *(0.25 * (1 + math.cos(math.pi * (step - 2) / 8)) for step in range(2, 10)), 0.0, 0.0],
    "constant": [0.0, 0.25] + 10 * [0.5],
}


@pytest.mark.parametrize("kind", WANTED)
def test_rates(kind):
    schedule = Schedule(TrainingHyperparameters(STEPS, WARMUP, PEAK, 1, 0, lr_schedule=kind))
    actual = schedule.rate(tf.range(12, dtype=tf.int64))
    np.testing.assert_allclose(actual, WANTED[kind], atol=1e-7)


def test_cosine_begins_at_the_peak_and_is_half_in_the_middle():
    schedule = Schedule(TrainingHyperparameters(STEPS, WARMUP, PEAK, 1, 0, lr_schedule="cosine"))
    np.testing.assert_allclose(schedule.rate(tf.constant([2, 6], tf.int64)), [0.5, 0.25], rtol=1e-6)
    without_warmup = Schedule(TrainingHyperparameters(STEPS, 0, PEAK, 1, 0, lr_schedule="cosine"))
    assert float(without_warmup.rate(tf.constant(0, tf.int64))) == 0.5


@pytest.mark.parametrize("kind", WANTED)
def test_warmup_may_be_the_whole_run(kind):
    schedule = Schedule(TrainingHyperparameters(2, 2, PEAK, 1, 0, lr_schedule=kind))
    rates = schedule.rate(tf.range(3, dtype=tf.int64))
    assert np.isfinite(rates).all()
    np.testing.assert_allclose(rates[:2], [0.0, 0.25])


def test_a_trace_uses_the_numbers_of_the_next_run():
    updates = TrainingHyperparameters(STEPS, WARMUP, PEAK, 1, 0)
    schedule = Schedule(updates)
    rate = tf.function(schedule.rate)
    steps = tf.range(12, dtype=tf.int64)
    rate(steps)
    following = dataclasses.replace(updates, steps=6, warmup_steps=0, learning_rate=1.0, first_step=1)
    schedule.restart(following)
    np.testing.assert_array_equal(rate(steps), Schedule(following).rate(steps))
    np.testing.assert_allclose(rate(steps)[1:4], [1.0, 0.8, 0.6])
    assert rate.experimental_get_tracing_count() == 1


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
