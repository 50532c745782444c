"""Which of TensorFlow's graph optimizers see our functions."""

import functools
from collections.abc import Callable

import tensorflow as tf

# Together they take a fifth of the time until the first step has been computed, and the steps are as fast without them:
# what they would fold, fuse or reorder is not there. Remapping, which fuses biases and activations into products, pays.
_LEFT_OUT = (
    "arithmetic_optimization", "constant_folding", "dependency_optimization", "function_optimization",
    "implementation_selector", "layout_optimizer", "loop_optimization", "shape_optimization",
)  # fmt: skip


def with_few_passes(function: Callable) -> Callable:
    """The same tf.function, without the optimizers that do nothing for it; whatever else this process computes has them."""
    options = tf.config.optimizer

    @functools.wraps(function)
    def call(*args):
        before = options.get_experimental_options()
        options.set_experimental_options(dict.fromkeys(_LEFT_OUT, False))
        try:
            return function(*args)
        finally:
            options.set_experimental_options(
                {name: before.get(name) for name in _LEFT_OUT}
            )  # None: TensorFlow's default

    return call
