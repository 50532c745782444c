"""Loss scaling for training in float16."""

import numpy as np
import tensorflow as tf

from bert_cli.tf_internals import variables
from bert_cli.weights.variables import GOOD_STEPS_NAME, SCALE_NAME, Reader

# float16 loses gradients below 6e-8, so the loss is multiplied by a scale. It starts with this
# value, and doubles after this many steps without overflow.
_FIRST_LOSS_SCALE = 2.0**15
_GROWTH_STEPS = 2000


class LossScale:
    """The dynamic loss scale of float16 training (Micikevicius et al., 2018)."""

    def __init__(self) -> None:
        self.scale = tf.Variable(_FIRST_LOSS_SCALE, trainable=False)
        self.good_steps = tf.Variable(0, trainable=False)

    def restart(self) -> None:
        """Use the first scale again, for another run."""
        self.scale.assign(_FIRST_LOSS_SCALE)
        self.good_steps.assign(0)

    def tensors(self) -> dict[str, np.ndarray]:
        """Return the values for a checkpoint."""
        return {SCALE_NAME: self.scale.numpy(), GOOD_STEPS_NAME: self.good_steps.numpy()}

    def restore(self, reader: Reader) -> None:
        """Use the scale from a checkpoint, or the default if it was trained in another precision."""
        if SCALE_NAME in reader.shapes and GOOD_STEPS_NAME in reader.shapes:
            self.scale.assign(reader.read(SCALE_NAME))
            self.good_steps.assign(reader.read(GOOD_STEPS_NAME))

    def current(self) -> tf.Tensor:
        return variables.read(self.scale.handle)

    def update(self, finite: tf.Tensor) -> None:
        """Halve the scale after an overflow, double it after many steps without, in this replica."""
        good = variables.read(self.good_steps.handle, tf.int32) + 1
        grow = good >= _GROWTH_STEPS
        factor = tf.where(finite, tf.where(grow, 2.0, 1.0), 0.5)
        scale = tf.clip_by_value(self.current() * factor, 1.0, 2.0**24)
        good = tf.where(tf.logical_or(grow, tf.logical_not(finite)), 0, good)
        variables.assign(self.scale.handle, scale)
        variables.assign(self.good_steps.handle, good)
