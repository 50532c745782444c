"""Options of TensorFlow's graph optimizers (Grappler) that no public function sets; checked with
TensorFlow 2.21.0.
"""

import contextlib
from collections.abc import Iterator

from tensorflow.core.protobuf.config_pb2 import ConfigProto
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig
from tensorflow.python.eager import context


@contextlib.contextmanager
def single_optimizer_round() -> Iterator[None]:
    """Within it the graphs of this process are optimized in one round instead of two, without
    memory optimization.
    """
    # tf.config.optimizer.set_experimental_options has neither option. They are fields of the
    # ConfigProto from which the eager context derives the configuration of each function call, and
    # only the attribute itself can replace it.
    process = context.context()
    before = process._config  # None: TensorFlow's default
    config = ConfigProto()
    if before:
        config.CopyFrom(before)
    config.graph_options.rewrite_options.meta_optimizer_iterations = RewriterConfig.ONE
    config.graph_options.rewrite_options.memory_optimization = RewriterConfig.NO_MEM_OPT
    process._config = config
    try:
        yield
    finally:
        process._config = before
