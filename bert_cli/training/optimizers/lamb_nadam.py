"""LAMB and Nadam, which differ from AdamWeightDecay only in the update of a variable."""

from typing import Any

import numpy as np
import tensorflow as tf

from bert_cli.model.ops import traced_once
from bert_cli.training.optimizers.adamw import BETA_1, BETA_2, EPSILON, AdamWeightDecay, WeightSlots, apply_weight_decay


class Lamb(AdamWeightDecay):
    """LAMB (You et al., 2020, algorithm 2), with AdamWeightDecay's clipping and schedule.

    u = m̂/(√v̂ + 1e-6) + 0.01·w, w ← w − rate·(‖w‖/‖u‖)·u

    m and v use bias correction. The ratio is 1 if a norm is 0. Variables without decay use the ratio 1,
    too. In checkpoints, slots are also called adam_m and adam_v.
    """

    second_scale = np.float32(1.0)
    rows_are_independent = False  # norms are computed over the whole variable

    def _shared_terms(self, step: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return 1 − β₁ᵗ and 1 − β₂ᵗ for update t."""
        count = tf.cast(step + 1, tf.float32)
        return 1.0 - tf.pow(BETA_1, count), 1.0 - tf.pow(BETA_2, count)

    @staticmethod
    @traced_once
    def _update(
        slots: WeightSlots, decays: bool, gradient: tf.Tensor, rate: tf.Tensor, shared_terms: Any, weight_decay: float
    ) -> None:
        weight, first, second = slots.next_moments(gradient)
        update = first / shared_terms[0] / (tf.sqrt(second / shared_terms[1]) + EPSILON)
        if decays:
            update += weight_decay * weight
            weight_norm, update_norm = tf.norm(weight), tf.norm(update)
            # If a norm is 0, there is no direction to scale. The inner tf.where prevents 0/0.
            usable = tf.logical_and(weight_norm > 0.0, update_norm > 0.0)
            update *= tf.where(usable, weight_norm / tf.where(usable, update_norm, 1.0), 1.0)
        slots.assign(weight - rate * update, first, second)


# After this many steps the product of momenta is below 1e-11, which float32 ignores next to 1.
_MAX_PRODUCTS = 128


def _momentum(count: np.ndarray | tf.Tensor) -> np.ndarray | tf.Tensor:
    """Return μ for update `count`, from 1."""
    return BETA_1 * (1.0 - 0.5 * 0.96**count)


def momentum_products() -> np.ndarray:
    """Return Π(t) = μ₁·…·μ_t for t = 0 … _MAX_PRODUCTS, float32; Π(0) = 1."""
    momenta = _momentum(np.arange(1, _MAX_PRODUCTS + 1, dtype=np.float64))
    return np.concatenate([[1.0], np.cumprod(momenta)]).astype(np.float32)


class Nadam(AdamWeightDecay):
    """Nadam as in Keras, with AdamWeightDecay's clipping, schedule, decay and epsilon.

    m and v are the same as in Adam. For update t, from 1, μ_t = 0.9·(1 − ½·0.96^t) and
    Π_t = μ₁·…·μ_t:

    m̂ = μ_{t+1}·m/(1 − Π_{t+1}) + (1 − μ_t)·g/(1 − Π_t)
    v̂ = v/(1 − 0.999^t)
    w ← w − rate·(m̂/(√v̂ + 1e-6) + 0.01·w)

    The products depend only on t, so checkpoints need only adam_m and adam_v.
    """

    second_scale = np.float32(1.0)

    def _shared_terms(self, step: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return μ_{t+1}/(1 − Π_{t+1}), (1 − μ_t)/(1 − Π_t) and 1 − 0.999^t for update t."""
        count = tf.cast(step + 1, tf.float32)
        products = tf.constant(momentum_products())
        index = tf.cast(tf.minimum(step, _MAX_PRODUCTS - 1), tf.int32)
        product, next_product = products[index + 1], products[tf.minimum(index + 2, _MAX_PRODUCTS)]
        first_factor = _momentum(count + 1.0) / (1.0 - next_product)
        # Powers and products are the same for all weights,
        # so compute them outside the shared trace.
        return first_factor, (1.0 - _momentum(count)) / (1.0 - product), 1.0 - tf.pow(BETA_2, count)

    @staticmethod
    @traced_once
    def _update(
        slots: WeightSlots, decays: bool, gradient: tf.Tensor, rate: tf.Tensor, shared_terms: Any, weight_decay: float
    ) -> None:
        first_factor, gradient_factor, second_correction = shared_terms
        if decays and weight_decay:
            apply_weight_decay(slots.weight, rate * weight_decay)
        weight, first, second = slots.next_moments(gradient)
        update = (first_factor * first + gradient_factor * gradient) / (tf.sqrt(second / second_correction) + EPSILON)
        slots.assign(weight - rate * update, first, second)
