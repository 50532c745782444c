"""What processes that train together agree on: their data and flags, and when they stop."""

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.runtime.cluster import read_cluster
from bert_cli.training.strategy import is_tpu


def is_multi_worker(strategy: tf.distribute.Strategy) -> bool:
    """Whether other processes train together with this one."""
    return strategy.cluster_resolver is not None and not is_tpu(strategy) and read_cluster().computing > 1


def check_agreement(strategy: tf.distribute.Strategy, facts: dict[str, Any]) -> None:
    """InputError, naming the first of these facts that differs, unless all processes that train
    together have the same.

    facts: by what they are called; each is compared by a digest. With one process nothing is done.
    """
    if not is_multi_worker(strategy):
        return
    # Numbers, as all that strategy.gather takes are tensors; 32 bits are enough to see a
    # difference.
    digests = np.array([zlib.crc32(str(value).encode()) for value in facts.values()], np.int64)
    mine = strategy.run(lambda: tf.constant(digests)[tf.newaxis])
    all_of_them = strategy.gather(mine, axis=0).numpy()  # [replicas, facts]
    for (name, value), column in zip(facts.items(), all_of_them.T, strict=True):
        if len(set(column.tolist())) > 1:
            raise InputError(
                f"the processes that train together do not agree on {name}, which is {value} for "
                f"{read_cluster().task}; give all of them the same flags, the same data and an "
                "--output_dir that they share"
            )


class StopFlag:
    """Called once after each step: whether this step is to be the last one, as this process, or
    another, was asked to end.
    """

    # A scheduler's signal reaches processes that train together at different steps, or one of them
    # alone. Where each went by its own, one would wait for ever for another's gradients. So all add
    # up, in each step, who was asked. They go by the sum of the step before: it is there without
    # waiting, and it is the same for all.

    def __init__(self, strategy: tf.distribute.Strategy, is_asked: Callable[[], bool]):
        """is_asked: of this process."""
        self._is_asked = is_asked
        self._asked_before: tf.Tensor | None = None
        self._total = _make_total(strategy) if is_multi_worker(strategy) else None
        self.is_decided = False

    def __call__(self) -> bool:
        asked = self._is_asked()
        if self._total is None:
            self.is_decided = asked
        else:
            before = self._asked_before
            self._asked_before = self._total(tf.constant(asked, tf.int32))
            self.is_decided = before is not None and int(before) > 0
        return self.is_decided


def _make_total(strategy: tf.distribute.Strategy) -> Callable[[tf.Tensor], tf.Tensor]:
    """total(int32 []) -> the sum of what all replicas give."""

    @tf.function(autograph=False)
    def total(value):
        values = strategy.run(lambda: tf.identity(value))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, values, axis=None)

    return total
