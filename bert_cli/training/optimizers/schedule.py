"""Learning-rate schedules."""

import math

import tensorflow as tf

from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters


def learning_rate(step: tf.Tensor, updates: TrainingHyperparameters) -> tf.Tensor:
    """Return the learning rate for the update after `step` finished ones, a float32 scalar.

    Let t be the finished steps, N all steps and W the warmup steps, counted from `first_step`. For
    t < W, all schedules return peak·t/W, so the first update uses a rate of 0. After that:

    linear    peak·(1 − min(t, N)/N). The original's formula: decay counts from step 0, so the rate
              drops by W/N when the warmup ends.
    cosine    peak·½·(1 + cos(π·min(t − W, N − W)/(N − W))), from the peak to 0 (Loshchilov &
              Hutter, 2017, without restarts).
    constant  peak.
    """
    peak = updates.learning_rate
    steps = updates.steps - updates.first_step
    warmup_steps = updates.warmup_steps
    done = tf.cast(step - updates.first_step, tf.float32)
    total = tf.constant(steps, tf.float32)
    if updates.lr_schedule == "linear":
        rate = peak * (1.0 - tf.minimum(done, total) / total)
    elif updates.lr_schedule == "cosine":
        decay_steps = max(1, steps - warmup_steps)
        progress = tf.clip_by_value((done - warmup_steps) / decay_steps, 0.0, 1.0)
        rate = peak * 0.5 * (1.0 + tf.cos(math.pi * progress))
    else:
        rate = tf.fill(tf.shape(done), tf.constant(peak, tf.float32))
    if warmup_steps:
        warmup = tf.constant(warmup_steps, tf.float32)
        rate = tf.where(done < warmup, peak * (done / warmup), rate)
    return rate
