"""Gradient checkpointing (Chen et al., 2016).

A layer's intermediate results are computed a second time for the gradient, instead of being kept.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf


def call_with_recomputation(
    first_pass: tf.types.experimental.PolymorphicFunction,
    second_pass: tf.types.experimental.PolymorphicFunction,
    values: Sequence[tf.Tensor],
    constants: Any,
) -> tf.Tensor:
    """Return y from (y, kept) = first_pass(values, constants), with a gradient.

    For the gradient, only `values`, `constants` and `kept` stay in memory. Works only in a graph.

    Args:
        first_pass: computes y and the tensors to keep.
        second_pass: second_pass(values, constants, kept) computes the same y for the gradient. If
            both passes draw random numbers, the seeds must be among the values.
        values: tensors; floating-point ones have a gradient.
        constants: further arguments, without a gradient.
    """

    @tf.custom_gradient
    def forward(*values: tf.Tensor) -> tuple[tf.Tensor, Callable]:
        # Detach the values: if an outer tape watched them, TensorFlow would prepare gradients of
        # gradients.
        detached = [tf.stop_gradient(value) for value in values]
        watched = _floats(detached)
        with tf.GradientTape() as tape:
            tape.watch(watched)
            y, kept = first_pass(detached, constants)
        # Trace now: when the gradient is computed, the caller has returned, and with several devices
        # a call of second_pass would trace again.
        traced_second_pass = second_pass.get_concrete_function(detached, constants, kept)

        def gradient(dy: tf.Tensor) -> list[tf.Tensor | None]:
            # Nothing uses this gradient, so it is never computed. But it turns the intermediate
            # results that it would need into outputs of the call of first_pass.
            tape.gradient(y, watched, dy)
            # TensorFlow fuses operators if nothing else reads the results between them, and fused
            # operators round differently. In the second pass, as without recomputation, the
            # gradient reads these results. Reading their sizes in the first pass prevents fusion
            # there, too, and keeps no memory.
            sizes = [tf.raw_ops.Size(input=output) for output in y.op.outputs[1:]]
            # Operators run as soon as their inputs exist, so make the second pass's inputs wait for
            # dy. They need tf.identity: the call of a function without side effects ignores
            # control dependencies.
            with tf.control_dependencies([tf.identity(dy), *sizes]):
                delayed = [tf.identity(value) for value in values]
            delayed_floats = _floats(delayed)
            with tf.GradientTape() as second_tape:
                second_tape.watch(delayed_floats)
                second_y = traced_second_pass(delayed, constants, kept)
            gradients = iter(second_tape.gradient(second_y, delayed_floats, dy))
            return [next(gradients) if value.dtype.is_floating else None for value in values]

        return y, gradient

    return forward(*values)


def _floats(values: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    return [value for value in values if value.dtype.is_floating]
