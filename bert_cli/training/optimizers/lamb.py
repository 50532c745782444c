"""LAMB (You et al., 2019): Adam whose step in each variable is as long as the variable times the rate.

For large batches. Variables that do not decay (biases, normalisation) take Adam's own step, as in the authors' code.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from bert_cli.training.optimizers.adamw import BETA_1, BETA_2, EPSILON, AdamWeightDecay, WeightSlots


class Lamb(AdamWeightDecay):
    """Algorithm 2 of the paper, with the clip, schedule and decay exclusions of AdamWeightDecay.

    m and v with bias correction, u = m̂/(√v̂ + 1e-6) + 0.01·w, w ← w − rate·(‖w‖/‖u‖)·u; the ratio is 1 where a norm is
    0. Slots are named adam_m and adam_v in checkpoints, too.
    """

    second_scale = np.float32(1.0)
    rows_are_independent = False  # the norms are those of the whole variable

    def _update(self, slots: WeightSlots, decays: bool, gradient: tf.Tensor, rate: tf.Tensor, step: Any) -> None:
        weight, first, second = slots.read()
        first = BETA_1 * first + (1.0 - BETA_1) * gradient
        second = BETA_2 * second + (1.0 - BETA_2) * tf.square(gradient)
        count = tf.cast(step + 1, tf.float32)
        unbiased_first = first / (1.0 - tf.pow(BETA_1, count))
        unbiased_second = second / (1.0 - tf.pow(BETA_2, count))
        update = unbiased_first / (tf.sqrt(unbiased_second) + EPSILON)
        if decays:
            update += self.weight_decay * weight
            weight_norm, update_norm = tf.norm(weight), tf.norm(update)
            # A weight or a step of norm 0 has no direction to scale; the inner `where` keeps 0/0 out of the graph.
            usable = tf.logical_and(weight_norm > 0.0, update_norm > 0.0)
            update *= tf.where(usable, weight_norm / tf.where(usable, update_norm, 1.0), 1.0)
        slots.assign(weight - rate * update, first, second)
