"""Which of TensorFlow's graph optimizers see a training step."""

import contextlib
import functools
import threading
from collections.abc import Callable

import tensorflow as tf

from bert_cli.runtime.background_import import BACKGROUND_IMPORTS
from bert_cli.tf_internals.graph_optimizers import single_optimizer_round

# Together they take a fifth of the time until the first step has been computed, and the steps are
# as fast without them: what they would fold, fuse or reorder is not there. Remapping, which fuses
# biases and activations into products, pays; in predictions it fuses GELU too, and needs the others
# for it (without them half of the speed is lost), so they keep all.
_LEFT_OUT = (
    "arithmetic_optimization", "constant_folding", "dependency_optimization", "function_optimization",
    "implementation_selector", "layout_optimizer", "loop_optimization", "shape_optimization",
)  # fmt: skip


class _Options:
    """Within it TensorFlow has the few optimizers, in all threads."""

    # The options are the process's, and steps may run in several threads: the first call that is
    # under way changes them, the last one puts them back.

    def __init__(self):
        self._lock = threading.Lock()
        self._calls = 0
        self._changes = contextlib.ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            self._calls += 1
            if self._calls == 1:
                options = tf.config.optimizer
                before = options.get_experimental_options()
                # Neither the second round nor the search for memory to save changes anything in a
                # step; together they take a second before the first step of six layers.
                self._changes.enter_context(single_optimizer_round())
                options.set_experimental_options(dict.fromkeys(_LEFT_OUT, False))
                # None, for an optimizer that nobody had set, is TensorFlow's default.
                restored = {name: before.get(name) for name in _LEFT_OUT}
                self._changes.callback(options.set_experimental_options, restored)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._calls -= 1
            if not self._calls:
                self._changes.close()


_OPTIONS = _Options()


def with_few_graph_optimizers(function: Callable) -> Callable:
    """The same tf.function, without the optimizers that do nothing for it; whatever else this
    process computes has them.
    """

    @functools.wraps(function)
    def call(*args):
        with _OPTIONS:
            return function(*args)

    return call


def with_background_imports(function: tf.types.experimental.PolymorphicFunction) -> Callable:
    """The same tf.function; while TensorFlow compiles its first call, the modules of
    runtime.background_import are imported.
    """
    is_traced = False

    @functools.wraps(function)
    def call(*args):
        nonlocal is_traced
        if not is_traced:
            # Tracing is Python and would slow imports down; compiling is not, so imports run in
            # parallel from here on.
            function.get_concrete_function(*args)
            is_traced = True
            BACKGROUND_IMPORTS.start()
        return function(*args)

    return call
