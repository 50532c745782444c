"""Options of TensorFlow's graph optimizers (Grappler) that no public function sets.

Checked with TensorFlow 2.21.0.
"""

import contextlib
from collections.abc import Iterator

from tensorflow.core.protobuf.config_pb2 import ConfigProto
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig
from tensorflow.python.eager import context


@contextlib.contextmanager
def single_optimizer_round() -> Iterator[None]:
    """Optimize this process's graphs in one round instead of two, without memory optimization.

    The previous options return when the context ends.
    """
    # tf.config.optimizer.set_experimental_options has neither option. Both are fields of a
    # ConfigProto in the eager context, which configures every function call with it. There is no
    # setter, so this replaces the attribute.
    eager_context = context.context()
    previous_config = eager_context._config  # None: TensorFlow's default
    config = ConfigProto()
    if previous_config:
        config.CopyFrom(previous_config)
    config.graph_options.rewrite_options.meta_optimizer_iterations = RewriterConfig.ONE
    config.graph_options.rewrite_options.memory_optimization = RewriterConfig.NO_MEM_OPT
    eager_context._config = config
    try:
        yield
    finally:
        eager_context._config = previous_config
