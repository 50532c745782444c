"""Access to variables through their resource handles, without copies.

Inside a replica, tf.Variable.assign synchronizes with the other replicas. These operators use the
handle and do not: each replica changes its copy. The copies stay equal, as the gradients are summed
before. Checked with TensorFlow 2.21.0.
"""

import types
from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf


def read(handle: tf.Tensor, dtype: tf.DType = tf.float32) -> tf.Tensor:
    """Return the variable's value in the current replica."""
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype)


def assign(handle: tf.Tensor, value: tf.Tensor) -> None:
    """Set the variable in the current replica; it takes over the memory of `value`."""
    tf.raw_ops.AssignVariableOp(resource=handle, value=value)


def add(handle: tf.Tensor, value: tf.Tensor) -> None:
    """Add `value` to the variable in the current replica."""
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
    """Update a weight and its moments with one step of Adam, in one pass over memory.

    Args:
        weight: handle of a weight variable.
        first, second: handles of the moments m and v.
        gradient: the gradient itself, not a handle.
        rate: learning rate.
        powers: β₁ᵗ and β₂ᵗ, which the kernel uses to correct the bias; 0 for no correction.
        epsilon: added to √v.
    """
    tf.raw_ops.ResourceApplyAdam(
        var=weight, m=first, v=second, beta1_power=powers[0], beta2_power=powers[1], lr=rate, beta1=betas[0], beta2=betas[1],
        epsilon=epsilon, grad=gradient,
    )  # fmt: skip


def memory_of(variable: tf.Variable | keras.Variable) -> np.ndarray:
    """Return the variable's values; a later update does not change them.

    The array shares the variable's memory if that is on a CPU, so do not write to it. From a GPU
    it is a copy.
    """
    # Undocumented: an eager tensor on a CPU shares its buffer with NumPy. If somebody else holds
    # the buffer, an update writes to a new one. `variable.numpy()` would copy: 4 bytes for every
    # weight and every moment.
    return np.asarray(tf.convert_to_tensor(variable))


def new_tensor(shape: Sequence[int]) -> tuple[tf.Tensor, np.ndarray]:
    """Return a new float32 tensor on the CPU, and a writable array with the same memory.

    The values are undefined. Write to the array before the tensor is used, and then delete it.

    TensorFlow keeps the memory of deleted tensors, such as gradients, for new tensors. NumPy cannot
    use it, so a large array from NumPy increases the process's peak.
    """
    with tf.device("CPU:0"):
        tensor = tf.raw_ops.Empty(shape=list(shape), dtype=tf.float32)
    # NumPy gives read-only access to a tensor. This
    # one has no values yet that anyone could rely on.
    values = np.asarray(tensor)
    interface = values.__array_interface__ | {"data": (values.ctypes.data, False)}
    return tensor, np.asarray(types.SimpleNamespace(__array_interface__=interface, owner=values))
