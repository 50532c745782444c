"""The options of graph optimizers, as the functions that run meanwhile see them."""

import tensorflow as tf
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig
from tensorflow.python.eager import context

from bert_cli.tf_internals.graph_optimizers import single_optimizer_round


def options():
    return context.context().config.graph_options.rewrite_options


def test_single_optimizer_round_is_seen_by_the_context_and_undone():
    before = options()
    with single_optimizer_round():
        assert options().meta_optimizer_iterations == RewriterConfig.ONE
        assert options().memory_optimization == RewriterConfig.NO_MEM_OPT
        # Options that have a public function still work meanwhile.
        tf.config.optimizer.set_experimental_options({"constant_folding": False})
        assert options().constant_folding == RewriterConfig.OFF
        tf.config.optimizer.set_experimental_options({"constant_folding": None})
    assert options() == before
    assert before.meta_optimizer_iterations == RewriterConfig.DEFAULT_NUM_ITERS
