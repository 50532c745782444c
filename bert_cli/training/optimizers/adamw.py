"""Adam with weight decay as Google's optimization.py computes it, in few passes over memory."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from bert_cli.model.encoder import WORDS
from bert_cli.model.ops import traced_once
from bert_cli.tf_internals import variables
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.training.optimizers.schedule import learning_rate

BETA_1 = 0.9
BETA_2 = 0.999
EPSILON = 1e-6
CLIP_NORM = 1.0
# What the fused kernel makes of 1 − β₂ is that much smaller than 0.001.
_SECOND_SCALE = np.float32(0.001 / (1.0 - float(np.float32(BETA_2))))
# Searched for anywhere in a variable's name, case-sensitively, as the original does.
NOT_DECAYED = re.compile("LayerNorm|layer_norm|bias")


def global_norm(gradients: list) -> tf.Tensor:
    """The norm over all gradients, as the original's clip computes it: float32 scalar."""
    # The gradient of the word embeddings in fine-tuning is a tf.IndexedSlices. As in the original
    # its rows enter one by one, before rows of the same word are added up.
    parts = [gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient for gradient in gradients]
    return tf.sqrt(2.0 * tf.add_n([tf.nn.l2_loss(part) for part in parts]))


class WeightSlots(NamedTuple):
    """The handles, in the current replica, of a weight and its moments."""

    weight: tf.Tensor
    first: tf.Tensor
    second: tf.Tensor

    def moved(self, gradient: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """The weight, and its moments after this gradient."""
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
    """AdamW: clip by global norm 1, m, v, u = m/(√v + 1e-6) + 0.01·w, w ← w − rate·u; bias
    correction only if asked for.

    Weights and slots are updated through the handle of the current replica, where each replica
    applies the same summed gradient, so no cross-replica update is needed.
    """

    second_scale = _SECOND_SCALE  # what a slot is multiplied with to be v
    # Whether a row without a gradient changes by its decay alone, whatever the other rows are: see
    # CompactEmbeddings.
    rows_are_independent = True

    def __init__(self, weights: dict, updates: TrainingHyperparameters, factors: Mapping[str, float] | None = None):
        """weights: checkpoint name -> variable. To be called inside the strategy's scope.

        updates.bias_correction: m and v are divided by 1 − βᵗ, as in Adam (Kingma & Ba, 2015) and
        in other libraries. Without, as in the original, the same learning rate makes steps that are
        up to 6.5 times as long at first.

        updates.weight_decay: the 0.01 above. factors: of the rates of some variables, see
        rate_factors. The attribute `weights` has those that are trained.
        """
        self.updates = updates
        self.weight_decay = updates.weight_decay
        self.factors = {name: (factors or {}).get(name, 1.0) for name in weights}
        self.has_frozen = any(factor == 0 for factor in self.factors.values())
        weights = {name: weight for name, weight in weights.items() if self.factors[name] > 0}
        self.weights = {name: w.value if isinstance(w, keras.Variable) else w for name, w in weights.items()}
        self.step = tf.Variable(0, dtype=tf.int64, trainable=False, name="global_step")
        # log of the factor by which decay alone has shrunk a word embedding since this was set to
        # 0, see CompactEmbeddings.
        self.log_decay = tf.Variable(0.0, trainable=False, name="log_decay")
        self.first = {name: tf.Variable(tf.zeros(w.shape), trainable=False) for name, w in weights.items()}
        self.second = {name: tf.Variable(tf.zeros(w.shape), trainable=False) for name, w in weights.items()}

    def apply(
        self, gradients: dict, norm: tf.Tensor | None = None, active: tf.Tensor | float = 1.0
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Update all weights and count the step, in the current replica. Returns (norm before
        clipping, rate).

        gradients: name -> tensor or tf.IndexedSlices, summed over replicas. norm: their global
        norm, where known. active: a factor of the rate; with 0 the weights stay as they are.
        """
        step = variables.read(self.step.handle, tf.int64)
        rate = learning_rate(step, self.updates) * active
        if norm is None:
            norm = global_norm(list(gradients.values()))
        clip = CLIP_NORM / tf.maximum(norm, CLIP_NORM)
        common = self._common(step)
        for name, gradient in gradients.items():
            slots = WeightSlots(*(table[name].handle for table in (self.weights, self.first, self.second)))
            scaled = tf.convert_to_tensor(gradient) * clip
            self._update(slots, decays(name), scaled, self._own_rate(name, rate), common, self.weight_decay)
        # The count must not change before the rate has read it.
        with tf.control_dependencies([step]):
            variables.add(self.step.handle, tf.constant(1, tf.int64))
        log_decay = tf.math.log1p(-self.weight_decay * self._own_rate(WORDS, rate))
        variables.add(self.log_decay.handle, log_decay)
        return norm, rate

    def _own_rate(self, name: str, rate: tf.Tensor) -> tf.Tensor:
        factor = self.factors.get(name, 1.0)
        return rate if factor == 1.0 else rate * factor

    def _common(self, step: tf.Tensor) -> Any:
        """What the updates of all weights need to know of the number of finished steps: here β₁ᵗ
        and β₂ᵗ, 0 for no bias correction.
        """
        if not self.updates.bias_correction:
            return 0.0, 0.0
        count = tf.cast(step + 1, tf.float32)
        return tf.pow(BETA_1, count), tf.pow(BETA_2, count)

    @staticmethod
    @traced_once
    def _update(
        slots: WeightSlots, decays: bool, gradient: tf.Tensor, rate: tf.Tensor, common: Any, weight_decay: float
    ) -> None:
        """Update one weight and its moments; `rate` is its own, `common` what `_common` says."""
        if decays and weight_decay:
            decay(slots.weight, rate * weight_decay)
        first_power, second_power = common
        # The fused kernel updates w, m and v in one pass over memory. It computes 1 − β from a
        # float32 β, which for 0.999 is 1.3e-5 off, more than the original's results allow. So it
        # works on V = v/d, with d = 0.001/(1 − β) as the kernel sees it, and rate and epsilon
        # divided by √d undo that.
        variables.apply_adam(
            *slots,
            gradient,
            rate / _SECOND_SCALE**0.5,
            (BETA_1, BETA_2),
            (first_power, second_power),
            EPSILON / _SECOND_SCALE**0.5 * tf.sqrt(1.0 - second_power),  # the kernel adds it to √v, not to √v̂
        )

    def variables(self) -> list[tf.Variable]:
        """All that `apply` changes."""
        return [*self.weights.values(), *self.first.values(), *self.second.values(), self.step, self.log_decay]

    def moments(self) -> dict[str, np.ndarray]:
        """`<name>/adam_m` and `<name>/adam_v`, float32, as Google's checkpoints hold them; see
        memory_of.

        The slots are set to what `restore` would make of the result: a run that saves goes on with
        the very numbers with which a resumed run starts.
        """
        named = {}
        for name in self.weights:
            named[f"{name}/adam_m"] = variables.memory_of(self.first[name])
            named[f"{name}/adam_v"] = variables.memory_of(self.second[name]) * self.second_scale
            self._set_second(name, named[f"{name}/adam_v"])
        return named

    def restore(self, moments: dict[str, np.ndarray], step: int) -> None:
        """Go on after `step` finished steps from the moments of a checkpoint."""
        for name in self.weights:
            self.first[name].assign(moments[f"{name}/adam_m"])
            self._set_second(name, moments[f"{name}/adam_v"])
        self.step.assign(step)

    def _set_second(self, name: str, second: np.ndarray) -> None:
        """second: v, as checkpoints hold it."""
        self.second[name].assign(second / self.second_scale)


def decays(name: str) -> bool:
    """Whether weight decay is for this variable."""
    return not NOT_DECAYED.search(name)


def decay(weight: tf.Tensor, amount: tf.Tensor) -> None:
    """w ← w·(1 − amount), of the variable with this handle."""
    # One pass over memory: the variable takes over what was computed. 1 − amount is rounded to
    # 2⁻²⁴, so a weight is exact to one unit in its last place; w − w·amount, to half a unit, takes
    # two passes and a half.
    variables.assign(weight, variables.read(weight) * (1.0 - amount))
