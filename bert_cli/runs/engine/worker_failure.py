"""Handling of a lost process when several processes train together."""

import contextlib
import re
from collections.abc import Iterator

from bert_cli.base.errors import TemporaryError
from bert_cli.runtime.cluster import is_multi_worker, read_cluster

_TASK = re.compile(r"/job:(\w+)/(?:replica:\d+/)?task:(\d+)")


@contextlib.contextmanager
def watch_for_failures(distribution_strategy: str) -> Iterator[None]:
    """Turn TensorFlow's errors about another process into TemporaryError inside the block.

    Raises:
        TemporaryError: if another process has ended or cannot be reached.
    """
    try:
        yield
    except Exception as error:
        if not is_multi_worker(distribution_strategy):
            raise
        import tensorflow as tf  # it has been imported by now

        lost = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.DeadlineExceededError)
        if not isinstance(error, (*lost, tf.errors.CancelledError)):
            raise
        cluster = read_cluster()
        tasks = [f"{job} {index}" for job, index in _TASK.findall(str(error))]
        name = next((name for name in tasks if name != cluster.task and name in cluster.addresses), "")
        description = f"{name} ({cluster.addresses[name]})" if name else "one of the processes that train together"
        raise TemporaryError(
            f"{description} has ended or cannot be reached; start all processes again, with the same "
            "commands: they go on from the last checkpoint"
        ) from None
