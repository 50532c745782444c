"""Which of TensorFlow's graph optimizers see a training step."""

import functools
import threading
from collections.abc import Callable

import tensorflow as tf
from tensorflow.core.protobuf.config_pb2 import ConfigProto
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig
from tensorflow.python.eager import context

from bert_cli.runtime.background_import import LATER

# Together they take a fifth of the time until the first step has been computed, and the steps are as fast without them:
# what they would fold, fuse or reorder is not there. Remapping, which fuses biases and activations into products, pays; in
# predictions it fuses GELU too, and needs the others for it (without them half of the speed is lost), so they keep all.
_LEFT_OUT = (
    "arithmetic_optimization", "constant_folding", "dependency_optimization", "function_optimization",
    "implementation_selector", "layout_optimizer", "loop_optimization", "shape_optimization",
)  # fmt: skip


def _once(before: ConfigProto | None) -> ConfigProto:
    """The same configuration, but all optimizers run once, not twice, and none looks for memory to save: neither changes
    anything in a step, and they take a second before the first step of six layers. No public function sets these two.
    """
    config = ConfigProto()
    if before:
        config.CopyFrom(before)
    config.graph_options.rewrite_options.meta_optimizer_iterations = RewriterConfig.ONE
    config.graph_options.rewrite_options.memory_optimization = RewriterConfig.NO_MEM_OPT
    return config


class _Options:
    """TensorFlow's options, which are the process's: changed by the first call that is under way, put back after the last."""

    def __init__(self):
        self._lock, self._calls, self._before, self._config = threading.Lock(), 0, {}, None

    def __enter__(self) -> None:
        with self._lock:
            self._calls += 1
            if self._calls == 1:
                self._before = tf.config.optimizer.get_experimental_options()
                self._config = context.context()._config
                context.context()._config = _once(self._config)
                tf.config.optimizer.set_experimental_options(dict.fromkeys(_LEFT_OUT, False))

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._calls -= 1
            if not self._calls:  # None: TensorFlow's default
                context.context()._config = self._config
                found = {name: self._before.get(name) for name in _LEFT_OUT}
                tf.config.optimizer.set_experimental_options(found)


_OPTIONS = _Options()


def with_few_passes(function: Callable) -> Callable:
    """The same tf.function, without the optimizers that do nothing for it; whatever else this process computes has them."""

    @functools.wraps(function)
    def call(*args):
        with _OPTIONS:
            return function(*args)

    return call


def with_imports(function: tf.types.experimental.PolymorphicFunction) -> Callable:
    """The same tf.function; while TensorFlow compiles its first call, the modules of runtime.background_import are imported."""
    is_traced = False

    @functools.wraps(function)
    def call(*args):
        nonlocal is_traced
        if not is_traced:
            function.get_concrete_function(*args)
            is_traced = True
            LATER.start()
        return function(*args)

    return call
