"""Step counts and the learning rate, with the original's arithmetic."""

import tensorflow as tf


def learning_rate(step: tf.Tensor, peak: float, num_train_steps: int, num_warmup_steps: int) -> tf.Tensor:
    """The rate of the update after `step` finished ones (so the first update of a warmup has rate 0), float32 scalar.

    t < W: peak·t/W, else peak·(1 − min(t, N)/N). The decay counts from step 0, so the rate drops by W/N where the
    warmup ends; that is the original's formula, kept for equality.
    """
    done = tf.cast(step, tf.float32)
    total = tf.constant(num_train_steps, tf.float32)
    rate = peak * (1.0 - tf.minimum(done, total) / total)
    if num_warmup_steps:
        warmup = tf.constant(num_warmup_steps, tf.float32)
        rate = tf.where(done < warmup, peak * (done / warmup), rate)
    return rate
