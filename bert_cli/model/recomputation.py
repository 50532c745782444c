"""Gradient checkpointing (Chen et al., 2016): what a layer computes on its way is computed once
more for the gradient, instead of being kept until then.
"""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf


def recomputed(
    first: tf.types.experimental.PolymorphicFunction,
    again: tf.types.experimental.PolymorphicFunction,
    values: Sequence[tf.Tensor],
    others: Any,
) -> tf.Tensor:
    """y of (y, kept) = first(values, others); for the gradient, `values`, `others` and `kept` alone
    stay in memory.

    again(values, others, kept): computes the same y, when the gradient is asked for; what both draw
    at random has its seed among the values. others: no gradient reaches it. In a graph only.
    """

    @tf.custom_gradient
    def forward(*values):
        # Where an outer tape watched too, TensorFlow would prepare gradients of the gradients.
        apart = [tf.stop_gradient(value) for value in values]
        watched = _floats(apart)
        with tf.GradientTape() as tape:
            tape.watch(watched)
            y, kept = first(apart, others)
        # Traced here: when the gradient is asked for, the caller is gone, and under a strategy of
        # several devices a call of `again` would be another trace.
        traced_again = again.get_concrete_function(apart, others, kept)

        def gradient(dy):
            # Nobody reads this gradient, so it is not computed. It makes all that it would read
            # outputs of the call of `first`.
            tape.gradient(y, watched, dy)
            # TensorFlow fuses operators where nothing else reads what is between them, and the
            # fused ones round differently. In `again`, as without recomputation, the gradient reads
            # it. In `first` its size is read, so the same operators are fused, and no memory is
            # kept for it.
            sizes = [tf.raw_ops.Size(input=output) for output in y.op.outputs[1:]]
            # An operator runs as soon as it has its inputs: so these wait for the gradient. Each is
            # a tf.identity, as the call of a function without side effects waits for nothing else.
            with tf.control_dependencies([tf.identity(dy), *sizes]):
                late = [tf.identity(value) for value in values]
            given = _floats(late)
            with tf.GradientTape() as tape_again:
                tape_again.watch(given)
                y_again = traced_again(late, others, kept)
            found = iter(tape_again.gradient(y_again, given, dy))
            return [next(found) if value.dtype.is_floating else None for value in values]

        return y, gradient

    return forward(*values)


def _floats(values: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    return [value for value in values if value.dtype.is_floating]
