"""A choice of TensorFlow's graph optimizers for training steps."""

import contextlib
import functools
import threading
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from bert_cli.runtime.machine import release_free_memory
from bert_cli.tf_internals.graph_optimizers import single_optimizer_round

# Together they take a fifth of the time until the first step is finished. Steps are as fast without
# them, because there is nothing to fold or reorder. Remapping remains: it fuses biases and
# activations into products. Predictions use all optimizers: remapping also fuses GELU there, which
# needs the others (without them, predictions take twice as long).
_TURNED_OFF = (
    "arithmetic_optimization", "constant_folding", "dependency_optimization", "function_optimization",
    "implementation_selector", "layout_optimizer", "loop_optimization", "shape_optimization",
)  # fmt: skip


class _Options:
    """A context in which all threads use only few graph optimizers."""

    # The options belong to the process, and several threads may run steps. So the first call that
    # enters changes them, and the last call that leaves restores them.

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._changes = contextlib.ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            self._calls += 1
            if self._calls == 1:
                options = tf.config.optimizer
                previous = options.get_experimental_options()
                # The second round and memory optimization change nothing in a step, but take a
                # second before the first step with six layers.
                self._changes.enter_context(single_optimizer_round())
                options.set_experimental_options(dict.fromkeys(_TURNED_OFF, False))
                # None, for options that nobody set, means TensorFlow's default.
                restored = {name: previous.get(name) for name in _TURNED_OFF}
                self._changes.callback(options.set_experimental_options, restored)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._calls -= 1
            if not self._calls:
                self._changes.close()


_OPTIONS = _Options()


def with_few_graph_optimizers(function: Callable) -> Callable:
    """Return the tf.function without useless graph optimizers; the rest of the process keeps them."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        with _OPTIONS:
            return function(*args)

    return call


def calling_when_traced(
    function: tf.types.experimental.PolymorphicFunction, on_traced: Callable[[], object]
) -> Callable:
    """Return the tf.function; its first call also calls on_traced(), before TensorFlow compiles.

    Python code in a thread, such as imports, can run at the same time as the compilation. Unused memory
    is released before and after that.
    """
    is_traced = False

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        nonlocal is_traced
        if not is_traced:
            # Trace first, because tracing is Python and would slow such a thread. Compiling is not.
            function.get_concrete_function(*args)
            is_traced = True
            release_free_memory()
            on_traced()
            result = function(*args)
            release_free_memory()
            return result
        return function(*args)

    return call
