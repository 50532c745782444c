"""When training ends because a process was asked to: where several train together, all of them after the same step."""

from collections.abc import Callable

import tensorflow as tf

from bert_cli.training.strategy import is_one_of_several


class StopFlag:
    """Called once after each step: whether this step is to be the last one, as this process, or another, was asked to end."""

    # A scheduler's signal reaches processes that train together at different steps, or one of them alone. Where each went by
    # its own, one would wait for ever for another's gradients. So all add up, in each step, who was asked. They go by the sum
    # of the step before: it is there without waiting, and it is the same for all.

    def __init__(self, strategy: tf.distribute.Strategy, is_asked: Callable[[], bool]):
        """is_asked: of this process."""
        self._is_asked = is_asked
        self._asked_before: tf.Tensor | None = None
        self._total = _make_total(strategy) if is_one_of_several(strategy) else None
        self.is_decided = False

    def __call__(self) -> bool:
        asked = self._is_asked()
        if self._total is None:
            self.is_decided = asked
        else:
            before, self._asked_before = self._asked_before, self._total(tf.constant(asked, tf.int32))
            self.is_decided = before is not None and int(before) > 0
        return self.is_decided


def _make_total(strategy: tf.distribute.Strategy) -> Callable[[tf.Tensor], tf.Tensor]:
    """total(int32 []) -> the sum of what all replicas give."""

    @tf.function(autograph=False)
    def total(value):
        values = strategy.run(lambda: tf.identity(value))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, values, axis=None)

    return total
