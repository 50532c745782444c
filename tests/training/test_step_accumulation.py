"""Gradient accumulation: updates equal those for the whole batch, except for rounding, and steps have separate seeds."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.training.loss_scale import LossScale
from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.training.step import make_train_step
from tests.training_states import moments_of

ROWS = 8
SIGNATURE = {"words": tf.TensorSpec([None, 3], tf.int32), "gradient": tf.TensorSpec([None], tf.float32)}


def batch_of(seed: int, size: float) -> dict:
    rng = np.random.default_rng(seed)
    return {
        "words": tf.constant(
            rng.integers(0, 5, (ROWS, 3)), tf.int32
        ),  # words are repeated in several accumulation steps
        "gradient": tf.constant(size * rng.normal(size=ROWS), tf.float32),
    }


def train(accumulation_steps: int, size: float, loss_scale: LossScale | None = None) -> tuple[list, dict]:
    """Return the losses of four updates, and the final weights and moments."""
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    with strategy.scope():
        table, bias = tf.Variable(np.arange(10, dtype=np.float32).reshape(5, 2)), tf.Variable([1.0, -1.0])
        optimizer = AdamWeightDecay({"table": table, "bias": bias}, TrainingHyperparameters(20, 0, 0.25, 1, 0))

    def loss_fn(batch, seed):
        rows = tf.reduce_sum(tf.gather(table, batch["words"]), axis=[1, 2]) + tf.reduce_sum(bias * [1.0, 3.0])
        return tf.reduce_sum(rows * batch["gradient"]) / ROWS

    step = make_train_step(strategy, loss_fn, optimizer, 3, loss_scale, SIGNATURE, accumulation_steps)
    losses = [float(step(batch_of(number, size))[0]) for number in range(4)]
    assert optimizer.step.numpy() == 4
    return losses, {"table": table.numpy(), "bias": bias.numpy()} | moments_of(optimizer)


@pytest.mark.parametrize("size", [0.1, 10.0])  # below and above the clipping norm; rows count separately in the norm
@pytest.mark.parametrize("accumulation_steps", [2, 8])
def test_accumulated_updates_equal_updates_for_whole_batches(accumulation_steps, size):
    losses, tensors = train(1, size)
    actual_losses, actual = train(accumulation_steps, size)
    np.testing.assert_allclose(actual_losses, losses, rtol=1e-4, atol=1e-6)
    for name, value in tensors.items():
        np.testing.assert_allclose(actual[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_accumulation_with_a_loss_scale():
    _, plain = train(1, 1.0)
    _, actual = train(2, 1.0, LossScale())
    for name, value in plain.items():
        np.testing.assert_allclose(actual[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_accumulation_steps_have_separate_rows_and_seeds():
    strategy, seen = tf.distribute.OneDeviceStrategy("/cpu:0"), []
    with strategy.scope():
        optimizer = AdamWeightDecay({"bias": tf.Variable([1.0])}, TrainingHyperparameters(20, 0, 0.25, 1, 0))

    def loss_fn(batch, seed):
        def note(seed, words):
            seen.append((tuple(seed.tolist()), words.tolist()))
            return np.float32(0)

        noted = tf.numpy_function(note, [seed, batch["words"]], tf.float32)
        return tf.reduce_sum(optimizer.weights["bias"]) + tf.ensure_shape(noted, [])

    step, batch = make_train_step(strategy, loss_fn, optimizer, 3, None, SIGNATURE, 4), batch_of(0, 1.0)
    step(batch)
    assert len({seed for seed, _ in seen}) == 4
    assert {second for (_, second), _ in seen} == {0}
    assert [row for _, rows in seen for row in rows] == batch["words"].numpy().tolist()
