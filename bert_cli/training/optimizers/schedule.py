"""Step counts and the learning rate; of the linear schedule with the original's arithmetic."""

import math

import tensorflow as tf


def learning_rate(
    step: tf.Tensor, peak: float, num_train_steps: int, num_warmup_steps: int, schedule: str = "linear"
) -> tf.Tensor:
    """The rate of the update after `step` finished ones (so the first update of a warmup has rate 0), float32 scalar.

    With t finished steps of N, W of them the warmup, all schedules have peak·t/W for t < W, and then

    linear    peak·(1 − min(t, N)/N). The decay counts from step 0, so the rate drops by W/N where the warmup ends; that is
              the original's formula, kept for equality.
    cosine    peak·½·(1 + cos(π·min(t − W, N − W)/(N − W))), from the peak to 0 (Loshchilov & Hutter, 2017, without
              restarts)
    constant  peak
    """
    done = tf.cast(step, tf.float32)
    total = tf.constant(num_train_steps, tf.float32)
    if schedule == "linear":
        rate = peak * (1.0 - tf.minimum(done, total) / total)
    elif schedule == "cosine":
        falling = max(1, num_train_steps - num_warmup_steps)
        share = tf.clip_by_value((done - num_warmup_steps) / falling, 0.0, 1.0)
        rate = peak * 0.5 * (1.0 + tf.cos(math.pi * share))
    else:
        rate = tf.fill(tf.shape(done), tf.constant(peak, tf.float32))
    if num_warmup_steps:
        warmup = tf.constant(num_warmup_steps, tf.float32)
        rate = tf.where(done < warmup, peak * (done / warmup), rate)
    return rate
