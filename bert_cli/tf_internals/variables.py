"""Variables through their resource handles and without copies; checked with TensorFlow 2.21.0.

tf.Variable.assign inside a replica of tf.distribute synchronizes with the other replicas. The
operators on the handle do not: each replica changes its own copy, and all in the same way, as the
gradient is summed before.
"""

import keras
import numpy as np
import tensorflow as tf


def read(handle: tf.Tensor, dtype: tf.DType = tf.float32) -> tf.Tensor:
    """The value of the variable with this handle, in the current replica."""
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype)


def assign(handle: tf.Tensor, value: tf.Tensor) -> None:
    """Set the variable with this handle, in the current replica, which takes over the memory of
    `value`.
    """
    tf.raw_ops.AssignVariableOp(resource=handle, value=value)


def add(handle: tf.Tensor, value: tf.Tensor) -> None:
    """Add to the variable with this handle, in the current replica."""
    tf.raw_ops.AssignAddVariableOp(resource=handle, value=value)


def apply_adam(
    weight: tf.Tensor,
    first: tf.Tensor,
    second: tf.Tensor,
    gradient: tf.Tensor,
    rate: tf.Tensor,
    betas: tuple[float, float],
    powers: tuple[tf.Tensor | float, tf.Tensor | float],
    epsilon: tf.Tensor | float,
) -> None:
    """One update of Adam of the variables with these handles, in one pass over memory.

    powers: βᵗ of the two betas, by which the kernel corrects the bias; 0 for no correction.
    epsilon: added to √v.
    """
    tf.raw_ops.ResourceApplyAdam(
        var=weight, m=first, v=second, beta1_power=powers[0], beta2_power=powers[1], lr=rate, beta1=betas[0], beta2=betas[1],
        epsilon=epsilon, grad=gradient,
    )  # fmt: skip


def memory_of(variable: tf.Variable | keras.Variable) -> np.ndarray:
    """The values in the variable's own memory, to be read only; a later update leaves them as they
    are.

    On a CPU it shares the variable's memory; from a GPU it is a copy.
    """
    # Documented nowhere: an eager tensor on a CPU shares its buffer with NumPy, and an update of a
    # variable with a buffer that somebody else holds writes to a new one. `variable.numpy()` copies
    # instead: 4 bytes for each weight and each moment.
    return np.asarray(tf.convert_to_tensor(variable))
