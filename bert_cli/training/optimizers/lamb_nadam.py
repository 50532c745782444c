"""LAMB and Nadam: optimizers that share all but the update of a variable with AdamWeightDecay."""

from typing import Any

import numpy as np
import tensorflow as tf

from bert_cli.model.ops import traced_once
from bert_cli.training.optimizers.adamw import BETA_1, BETA_2, EPSILON, AdamWeightDecay, WeightSlots, decay


class Lamb(AdamWeightDecay):
    """Algorithm 2 of the paper, with the clip, schedule and decay exclusions of AdamWeightDecay.

    m and v with bias correction, u = m̂/(√v̂ + 1e-6) + 0.01·w, w ← w − rate·(‖w‖/‖u‖)·u; the ratio
    is 1 where a norm is 0. Slots are named adam_m and adam_v in checkpoints, too.
    """

    second_scale = np.float32(1.0)
    rows_are_independent = False  # the norms are taken over the whole variable

    def _common(self, step: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """1 − β₁ᵗ and 1 − β₂ᵗ of update t."""
        count = tf.cast(step + 1, tf.float32)
        return 1.0 - tf.pow(BETA_1, count), 1.0 - tf.pow(BETA_2, count)

    @staticmethod
    @traced_once
    def _update(
        slots: WeightSlots, decays: bool, gradient: tf.Tensor, rate: tf.Tensor, common: Any, weight_decay: float
    ) -> None:
        weight, first, second = slots.moved(gradient)
        update = first / common[0] / (tf.sqrt(second / common[1]) + EPSILON)
        if decays:
            update += weight_decay * weight
            weight_norm, update_norm = tf.norm(weight), tf.norm(update)
            # A weight or a step of norm 0 has no direction to scale; the inner `where` keeps 0/0
            # out of the graph.
            usable = tf.logical_and(weight_norm > 0.0, update_norm > 0.0)
            update *= tf.where(usable, weight_norm / tf.where(usable, update_norm, 1.0), 1.0)
        slots.assign(weight - rate * update, first, second)


# After this number of steps the product of the momenta, below 1e-11, is nothing next to 1 in
# float32.
_LONGEST = 128


def _momentum(count: np.ndarray | tf.Tensor) -> np.ndarray | tf.Tensor:
    """μ of update `count`, from 1."""
    return BETA_1 * (1.0 - 0.5 * 0.96**count)


def momentum_products() -> np.ndarray:
    """Π(t) = μ₁·…·μ_t for t = 0 … _LONGEST, float32; Π(0) = 1."""
    momenta = _momentum(np.arange(1, _LONGEST + 1, dtype=np.float64))
    return np.concatenate([[1.0], np.cumprod(momenta)]).astype(np.float32)


class Nadam(AdamWeightDecay):
    """As keras.optimizers.Nadam computes it, with the clip, schedule, decay and epsilon of
    AdamWeightDecay.

    m and v as in Adam; at update t, from 1, with μ_t = 0.9·(1 − ½·0.96^t) and Π_t = μ₁·…·μ_t

    m̂ = μ_{t+1}·m/(1 − Π_{t+1}) + (1 − μ_t)·g/(1 − Π_t),   v̂ = v/(1 − 0.999^t),   w ← w − rate·(m̂/(√v̂ + 1e-6) + 0.01·w)

    The products depend on t alone, so a checkpoint needs nothing but adam_m and adam_v.
    """

    second_scale = np.float32(1.0)

    def _common(self, step: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """μ_{t+1}/(1 − Π_{t+1}), (1 − μ_t)/(1 − Π_t) and 1 − 0.999^t of update t."""
        count = tf.cast(step + 1, tf.float32)
        products = tf.constant(momentum_products())
        index = tf.cast(tf.minimum(step, _LONGEST - 1), tf.int32)
        product, next_product = products[index + 1], products[tf.minimum(index + 2, _LONGEST)]
        of_first = _momentum(count + 1.0) / (1.0 - next_product)
        # Powers and products are the same for all weights: computed once, outside of the trace that
        # they share.
        return of_first, (1.0 - _momentum(count)) / (1.0 - product), 1.0 - tf.pow(BETA_2, count)

    @staticmethod
    @traced_once
    def _update(
        slots: WeightSlots, decays: bool, gradient: tf.Tensor, rate: tf.Tensor, common: Any, weight_decay: float
    ) -> None:
        of_first, of_gradient, unbiased = common
        if decays and weight_decay:
            decay(slots.weight, rate * weight_decay)
        weight, first, second = slots.moved(gradient)
        update = (of_first * first + of_gradient * gradient) / (tf.sqrt(second / unbiased) + EPSILON)
        slots.assign(weight - rate * update, first, second)
