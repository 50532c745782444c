"""Learning-rate schedules."""

import math

import tensorflow as tf

from bert_cli.tf_internals import variables
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters


class Schedule:
    """A learning-rate schedule, with its numbers in variables.

    So a traced training step also serves a run with another rate or another number of steps.
    """

    def __init__(self, updates: TrainingHyperparameters):
        """Create the variables; call this inside the strategy's scope."""
        self._kind = updates.lr_schedule
        self._peak = tf.Variable(updates.learning_rate, dtype=tf.float32, trainable=False)
        self._counts = tf.Variable(_counts(updates), dtype=tf.int64, trainable=False)

    def restart(self, updates: TrainingHyperparameters) -> None:
        """Use the numbers of another run with the same kind of schedule."""
        self._peak.assign(updates.learning_rate)
        self._counts.assign(_counts(updates))

    def rate(self, step: tf.Tensor) -> tf.Tensor:
        """Return the learning rate for the update after `step` finished ones, float32 like `step`.

        Let t be the finished steps, N all steps and W the warmup steps, counted from `first_step`. For
        t < W, all schedules return peak·t/W, so the first update uses a rate of 0. After that:

        linear    peak·(1 − min(t, N)/N). The original's formula: decay counts from step 0, so the rate
                  drops by W/N when the warmup ends.
        cosine    peak·½·(1 + cos(π·min(t − W, N − W)/(N − W))), from the peak to 0 (Loshchilov &
                  Hutter, 2017, without restarts).
        constant  peak.
        """
        # Read through the handles: a replica then reads its own copies.
        peak = variables.read(self._peak.handle)
        first_step, steps, warmup_steps = tf.unstack(variables.read(self._counts.handle, tf.int64))
        done = tf.cast(step - first_step, tf.float32)
        warmup = tf.cast(warmup_steps, tf.float32)
        if self._kind == "linear":
            total = tf.cast(steps, tf.float32)
            rate = peak * (1.0 - tf.minimum(done, total) / total)
        elif self._kind == "cosine":
            decay_steps = tf.cast(tf.maximum(tf.constant(1, tf.int64), steps - warmup_steps), tf.float32)
            progress = tf.clip_by_value((done - warmup) / decay_steps, 0.0, 1.0)
            rate = peak * 0.5 * (1.0 + tf.cos(math.pi * progress))
        else:
            rate = tf.fill(tf.shape(done), peak)
        # Without a warmup, no step is below 0, so the quotient is not used.
        return tf.where(done < warmup, peak * (done / warmup), rate)


def _counts(updates: TrainingHyperparameters) -> list[int]:
    """Return the first step, and the numbers of steps and warmup steps from there."""
    return [updates.first_step, updates.steps - updates.first_step, updates.warmup_steps]
