"""Graph optimizer options inside and after the context manager."""

import tensorflow as tf
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig
from tensorflow.python.eager import context

from bert_cli.tf_internals.graph_optimizers import single_optimizer_round


def rewrite_options():
    return context.context().config.graph_options.rewrite_options


def test_single_optimizer_round_sets_and_restores_options():
    original = rewrite_options()
    with single_optimizer_round():
        assert rewrite_options().meta_optimizer_iterations == RewriterConfig.ONE
        assert rewrite_options().memory_optimization == RewriterConfig.NO_MEM_OPT
        # Options with a public setter still work inside.
        tf.config.optimizer.set_experimental_options({"constant_folding": False})
        assert rewrite_options().constant_folding == RewriterConfig.OFF
        tf.config.optimizer.set_experimental_options({"constant_folding": None})
    assert rewrite_options() == original
    assert original.meta_optimizer_iterations == RewriterConfig.DEFAULT_NUM_ITERS
