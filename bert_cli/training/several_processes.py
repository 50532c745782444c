"""Agreement between processes that train together: on data, flags, and when to stop."""

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError, TemporaryError
from bert_cli.base.log import LOG
from bert_cli.runtime.cluster import read_cluster
from bert_cli.runtime.signals import Stopped, stop_exception
from bert_cli.training.strategy import is_tpu


def has_other_workers(strategy: tf.distribute.Strategy) -> bool:
    """Return whether other processes train together with this one."""
    return strategy.cluster_resolver is not None and not is_tpu(strategy) and read_cluster().num_training > 1


def check_agreement(strategy: tf.distribute.Strategy, facts: dict[str, Any]) -> None:
    """Raise InputError for the first fact that differs between processes in the same training.

    With a single process, there is nothing to check.

    Args:
        strategy: strategy with the processes.
        facts: name for the message -> value; values are compared by digest.
    """
    if not has_other_workers(strategy):
        return
    # Use numbers, because strategy.gather accepts only tensors. 32 bits are enough to detect a
    # difference.
    digests = np.array([zlib.crc32(str(value).encode()) for value in facts.values()], np.int64)
    local_digests = strategy.run(lambda: tf.constant(digests)[tf.newaxis])
    all_digests = strategy.gather(local_digests, axis=0).numpy()  # [replicas, facts]
    for (name, value), column in zip(facts.items(), all_digests.T, strict=True):
        if len(set(column.tolist())) > 1:
            raise InputError(
                f"the processes that train together do not agree on {name}, which is {value} for "
                f"{read_cluster().task}; give all of them the same flags, the same data and an "
                "--output_dir that they share"
            )


class StopFlag:
    """A function that returns whether the current step is the last one.

    Call it once after each step. The step is the last one if this process or another should stop.
    """

    # A scheduler's signal reaches the processes at different steps, or only one of them. If each
    # decided alone, another would wait forever for its gradients. So in every step they count the
    # processes that should stop. They use the previous step's sum: it is available without waiting,
    # and the same for all.

    def __init__(self, strategy: tf.distribute.Strategy, is_stop_requested: Callable[[], bool]):
        """Create the flag.

        Args:
            strategy: strategy with the processes.
            is_stop_requested: returns True if this process should stop.
        """
        self._is_stop_requested = is_stop_requested
        self._previous_total: tf.Tensor | None = None
        self._total = _make_total(strategy) if has_other_workers(strategy) else None
        self.is_decided = False

    def __call__(self) -> bool:
        should_stop = self._is_stop_requested()
        if self._total is None:
            self.is_decided = should_stop
        else:
            previous_total = self._previous_total
            self._previous_total = self._total(tf.constant(should_stop, tf.int32))
            self.is_decided = previous_total is not None and int(previous_total) > 0
        return self.is_decided


def _make_total(strategy: tf.distribute.Strategy) -> Callable[[tf.Tensor], tf.Tensor]:
    """Return a function of an int32 scalar that returns its sum over all replicas."""

    @tf.function(autograph=False)
    def total(value: tf.Tensor) -> tf.Tensor:
        values = strategy.run(lambda: tf.identity(value))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, values, axis=None)

    return total


def stop_error(signal_number: int | None, step: int, steps: int, prefix: str, rerun: str) -> Stopped | TemporaryError:
    """Return the exception to raise after a stop signal.

    Args:
        signal_number: the signal to this process; None if another process received one.
        step: number of finished steps.
        steps: number of steps in the whole training.
        prefix: prefix of checkpoints, without the step.
        rerun: the command or call that resumes.
    """
    position = f"after step {step} of {steps}; saved as {prefix}{step}"
    if signal_number is None:
        return TemporaryError(
            f"a process that trains together with this one was asked to end: stopped {position}; "
            "start all of them again, with the same commands"
        )
    name = Stopped(signal_number).name
    return stop_exception(signal_number, f"stopped by {name} {position}; {rerun} goes on from there")


def log_stop_signal(name: str) -> None:
    """Log the first signal, given by its name."""
    LOG.warning("%s received: saving after this step; a second signal exits at once, without saving", name)
