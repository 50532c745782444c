"""Adam with weight decay, as in Google's optimization.py, with few passes over memory."""

import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from bert_cli.model.encoder import WORDS
from bert_cli.model.ops import traced_once
from bert_cli.tf_internals import variables
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.training.optimizers.schedule import Schedule

BETA_1 = 0.9
BETA_2 = 0.999
EPSILON = 1e-6
CLIP_NORM = 1.0
# The fused kernel computes 1 − β₂ in float32. This is the ratio between 0.001 and its result.
_SECOND_SCALE = np.float32(0.001 / (1.0 - float(np.float32(BETA_2))))
# Searched anywhere in a variable's name, case-sensitively, as in the original.
NOT_DECAYED = re.compile("LayerNorm|layer_norm|bias")


def global_norm(gradients: list) -> tf.Tensor:
    """Return the norm over all gradients, a float32 scalar, as the original clips it."""
    # In fine-tuning, the gradient of word embeddings is a tf.IndexedSlices. As in the original, its
    # rows count separately, before rows of the same word are added.
    tensors = [gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient for gradient in gradients]
    return tf.sqrt(2.0 * tf.add_n([tf.nn.l2_loss(tensor) for tensor in tensors]))


class WeightSlots(NamedTuple):
    """Handles of a weight and its moments in the current replica."""

    weight: tf.Tensor
    first: tf.Tensor
    second: tf.Tensor

    def next_moments(self, gradient: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return the weight, and the moments after this gradient."""
        weight, first, second = (variables.read(handle) for handle in self)
        return (
            weight,
            BETA_1 * first + (1.0 - BETA_1) * gradient,
            BETA_2 * second + (1.0 - BETA_2) * tf.square(gradient),
        )

    def assign(self, *values: tf.Tensor) -> None:
        for handle, value in zip(self, values, strict=True):
            variables.assign(handle, value)


class AdamWeightDecay:
    """AdamW with optional bias correction; it clips gradients to a global norm of 1.

    u = m/(√v + 1e-6) + 0.01·w, w ← w − rate·u

    Updates use the current replica's handles. All replicas apply the same summed gradient, so
    they need no synchronization.

    Attributes:
        second_scale: factor between the slot of the second moment and v.
        rows_are_independent: whether a row without a gradient changes only by decay, see
            CompactEmbeddings.
        weights: the trained variables by checkpoint name.
    """

    second_scale = _SECOND_SCALE
    rows_are_independent = True

    def __init__(self, weights: dict, updates: TrainingHyperparameters, factors: Mapping[str, float] | None = None):
        """Create the slots; call this inside the strategy's scope.

        Args:
            weights: checkpoint name -> variable.
            updates: hyperparameters. `weight_decay` is the 0.01 above. If `bias_correction` is
                set, m and v are divided by 1 − βᵗ, as in Adam (Kingma & Ba, 2015) and in other
                libraries. Without it, as in the original, the first steps are up to 6.5 times as
                long.
            factors: name -> factor of the learning rate, see rate_factors; 0 freezes a variable.
        """
        self.updates = updates
        self.weight_decay = updates.weight_decay
        self.factors = {name: (factors or {}).get(name, 1.0) for name in weights}
        self.has_frozen = any(factor == 0 for factor in self.factors.values())
        weights = {name: weight for name, weight in weights.items() if self.factors[name] > 0}
        self.weights = {name: w.value if isinstance(w, keras.Variable) else w for name, w in weights.items()}
        self._schedule = Schedule(updates)
        self.step = tf.Variable(0, dtype=tf.int64, trainable=False, name="global_step")
        # The logarithm of all decay factors for unused word
        # embeddings since this was reset to 0, see CompactEmbeddings.
        self.log_decay = tf.Variable(0.0, trainable=False, name="log_decay")
        self.first = {name: tf.Variable(tf.zeros(w.shape), trainable=False) for name, w in weights.items()}
        self.second = {name: tf.Variable(tf.zeros(w.shape), trainable=False) for name, w in weights.items()}

    def apply(
        self, gradients: dict, norm: tf.Tensor | None = None, active: tf.Tensor | float = 1.0
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Update all weights and increment the step, in the current replica.

        Args:
            gradients: name -> tensor or tf.IndexedSlices, summed over replicas.
            norm: their global norm, if it is computed already.
            active: factor of the rate; 0 leaves the weights unchanged.

        Returns:
            The norm before clipping, and the learning rate.
        """
        step = variables.read(self.step.handle, tf.int64)
        rate = self._schedule.rate(step) * active
        if norm is None:
            norm = global_norm(list(gradients.values()))
        clip = CLIP_NORM / tf.maximum(norm, CLIP_NORM)
        shared_terms = self._shared_terms(step)
        for name, gradient in gradients.items():
            slots = WeightSlots(*(table[name].handle for table in (self.weights, self.first, self.second)))
            scaled = tf.convert_to_tensor(gradient) * clip
            self._update(
                slots, uses_weight_decay(name), scaled, self._scale_rate(name, rate), shared_terms, self.weight_decay
            )
        # Do not change the step before the rate has read it.
        with tf.control_dependencies([step]):
            variables.add(self.step.handle, tf.constant(1, tf.int64))
        log_decay = tf.math.log1p(-self.weight_decay * self._scale_rate(WORDS, rate))
        variables.add(self.log_decay.handle, log_decay)
        return norm, rate

    def _scale_rate(self, name: str, rate: tf.Tensor) -> tf.Tensor:
        factor = self.factors.get(name, 1.0)
        return rate if factor == 1.0 else rate * factor

    def _shared_terms(self, step: tf.Tensor) -> Any:
        """Return the terms that depend only on the number of finished steps.

        Here these are β₁ᵗ and β₂ᵗ, or zeros without bias correction.
        """
        if not self.updates.bias_correction:
            return 0.0, 0.0
        count = tf.cast(step + 1, tf.float32)
        return tf.pow(BETA_1, count), tf.pow(BETA_2, count)

    @staticmethod
    @traced_once
    def _update(
        slots: WeightSlots, decays: bool, gradient: tf.Tensor, rate: tf.Tensor, shared_terms: Any, weight_decay: float
    ) -> None:
        """Update a weight and its moments.

        Args:
            slots: their handles.
            decays: whether the weight decays.
            gradient: the clipped gradient.
            rate: learning rate of this weight.
            shared_terms: result of `_shared_terms`.
            weight_decay: factor of the decay.
        """
        if decays and weight_decay:
            apply_weight_decay(slots.weight, rate * weight_decay)
        first_power, second_power = shared_terms
        # The fused kernel updates w, m and v in one pass over memory. It computes 1 − β from a
        # float32 β. For 0.999 the relative error is 1.3e-5, too much to match the original. So the
        # slot is V = v/d with d = 0.001/(1 − β), computed as in
        # the kernel, and rate and epsilon are divided by √d.
        variables.apply_adam(
            *slots,
            gradient,
            rate / _SECOND_SCALE**0.5,
            (BETA_1, BETA_2),
            (first_power, second_power),
            EPSILON / _SECOND_SCALE**0.5 * tf.sqrt(1.0 - second_power),  # the kernel adds it to √v, not to √v̂
        )

    def restart(self, updates: TrainingHyperparameters) -> None:
        """Start another run: reset moments and step, and use its learning rate, steps and warmup.

        Args:
            updates: the hyperparameters; the others must be equal to the previous run's.
        """
        self.updates = updates
        self._schedule.restart(updates)
        for slot in (*self.first.values(), *self.second.values()):
            slot.assign(tf.zeros(slot.shape))
        self.step.assign(0)
        self.log_decay.assign(0.0)

    def variables(self) -> list[tf.Variable]:
        """Return all variables that `apply` changes."""
        return [*self.weights.values(), *self.first.values(), *self.second.values(), self.step, self.log_decay]

    @contextlib.contextmanager
    def moments(self) -> Iterator[dict[str, Callable[[], np.ndarray]]]:
        """Yield a function per moment that returns it, float32, as in Google's checkpoints.

        In the context, the slots hold v itself, so that no copies are needed. Then they are set as
        `restore` would set them, so a run that saves and a resumed run continue with identical numbers.
        The arrays may share memory, see memory_of: do not keep them, or the slots need new memory.
        """
        for name, slot in self.second.items():
            self._set_second(name, np.multiply, variables.memory_of(slot))
        try:
            slots_by_ending = {"adam_m": self.first, "adam_v": self.second}
            yield {
                f"{name}/{ending}": functools.partial(variables.memory_of, slots[name])
                for ending, slots in slots_by_ending.items()
                for name in self.weights
            }
        finally:
            for name, slot in self.second.items():
                self._set_second(name, np.divide, variables.memory_of(slot))

    def restore(self, moments: dict[str, np.ndarray], step: int) -> None:
        """Set the moments from a checkpoint, and the number of finished steps."""
        for name in self.weights:
            self.first[name].assign(moments[f"{name}/adam_m"])
            self._set_second(name, np.divide, moments[f"{name}/adam_v"])
        self.step.assign(step)

    def _set_second(self, name: str, scale: np.ufunc, second: np.ndarray) -> None:
        """Set the slot from v with np.divide, or to v, the value in checkpoints, with np.multiply."""
        slot, values = variables.new_tensor(second.shape)
        scale(second, self.second_scale, out=values)
        self.second[name].assign(slot)


def uses_weight_decay(name: str) -> bool:
    """Return whether weight decay applies to this variable."""
    return not NOT_DECAYED.search(name)


def apply_weight_decay(weight: tf.Tensor, amount: tf.Tensor) -> None:
    """Update w ← w·(1 − amount) for the variable with this handle."""
    # This takes one pass over memory, because the variable takes over the result. As 1 − amount is
    # rounded to 2⁻²⁴, the error is at most one unit in the last place. w − w·amount would halve the
    # error, but takes two and a half passes.
    variables.assign(weight, variables.read(weight) * (1.0 - amount))
