"""The schedules of the learning rate."""

import math

import tensorflow as tf

from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters


def learning_rate(step: tf.Tensor, updates: TrainingHyperparameters) -> tf.Tensor:
    """The rate of the update after `step` finished ones (so the first update of a warmup has rate
    0), float32 scalar.

    With t finished steps of N, counted from the plan's first_step, W of them the warmup, all
    schedules have peak·t/W for t < W, and then

    linear    peak·(1 − min(t, N)/N). The decay counts from step 0, so the rate drops by W/N where the warmup ends; that is
              the original's formula, kept for equality.
    cosine    peak·½·(1 + cos(π·min(t − W, N − W)/(N − W))), from the peak to 0 (Loshchilov & Hutter, 2017, without
              restarts)
    constant  peak
    """
    peak = updates.learning_rate
    steps = updates.steps - updates.first_step
    warmup_steps = updates.warmup_steps
    done = tf.cast(step - updates.first_step, tf.float32)
    total = tf.constant(steps, tf.float32)
    if updates.lr_schedule == "linear":
        rate = peak * (1.0 - tf.minimum(done, total) / total)
    elif updates.lr_schedule == "cosine":
        falling = max(1, steps - warmup_steps)
        share = tf.clip_by_value((done - warmup_steps) / falling, 0.0, 1.0)
        rate = peak * 0.5 * (1.0 + tf.cos(math.pi * share))
    else:
        rate = tf.fill(tf.shape(done), tf.constant(peak, tf.float32))
    if warmup_steps:
        warmup = tf.constant(warmup_steps, tf.float32)
        rate = tf.where(done < warmup, peak * (done / warmup), rate)
    return rate
