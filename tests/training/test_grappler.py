"""Graph optimizer options are restored after a step, so nothing else in the process uses them."""

import threading

import pytest
import tensorflow as tf
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig
from tensorflow.python.eager import context

from bert_cli.training.grappler import calling_when_traced, with_few_graph_optimizers


@pytest.mark.parametrize("fails", [False, True])
def test_process_options_are_restored(fails):
    options, seen = tf.config.optimizer, []

    def function(value):
        seen.append(options.get_experimental_options())
        if fails:
            raise ValueError("no")
        return value + 1

    options.set_experimental_options({"constant_folding": True, "layout_optimizer": None})
    before = options.get_experimental_options()
    if fails:
        with pytest.raises(ValueError, match="no"):
            with_few_graph_optimizers(function)(1)
    else:
        assert with_few_graph_optimizers(function)(1) == 2
    assert seen[0]["constant_folding"] is False
    assert seen[0]["layout_optimizer"] is False
    assert options.get_experimental_options() == before
    assert before["constant_folding"] is True
    assert "layout_optimizer" not in before
    options.set_experimental_options({"constant_folding": None})


def test_calls_in_several_threads_restore_options():
    """The second call begins before the first one ends, and ends after it."""
    options, began, ended = tf.config.optimizer, threading.Event(), threading.Event()
    before = options.get_experimental_options()
    first = with_few_graph_optimizers(lambda: began.wait(10))
    thread = threading.Thread(target=lambda: (first(), ended.set()))
    thread.start()

    @with_few_graph_optimizers
    def second():
        began.set()
        assert ended.wait(10)
        return options.get_experimental_options()["layout_optimizer"]

    assert second() is False
    thread.join()
    assert options.get_experimental_options() == before


def test_graph_optimizers_run_once_only_in_a_step():
    def rewriting():
        return context.context().config.graph_options.rewrite_options

    before = rewriting()
    inside = with_few_graph_optimizers(rewriting)()
    assert inside.meta_optimizer_iterations == RewriterConfig.ONE
    assert inside.memory_optimization == RewriterConfig.NO_MEM_OPT
    assert rewriting() == before
    assert before.meta_optimizer_iterations == RewriterConfig.DEFAULT_NUM_ITERS


def test_other_work_begins_after_the_first_trace():
    seen = []

    @tf.function
    def double(value):
        seen.append("traced")
        return 2 * value

    function = calling_when_traced(double, lambda: seen.append("start"))
    assert [float(function(tf.constant(number))) for number in (1.0, 2.0)] == [2.0, 4.0]
    assert seen == ["traced", "start"]
