"""What a process does where one of those that it trains together with is lost."""

import contextlib
import re
from collections.abc import Iterator

from bert_cli.base.errors import TemporaryError
from bert_cli.runtime.cluster import is_multi_worker, read_cluster

_TASK = re.compile(r"/job:(\w+)/(?:replica:\d+/)?task:(\d+)")


@contextlib.contextmanager
def watch_for_failures(distribution_strategy: str) -> Iterator[None]:
    """Within it, what TensorFlow raises where another process has ended or cannot be reached
    becomes TemporaryError.
    """
    try:
        yield
    except Exception as error:
        if not is_multi_worker(distribution_strategy):
            raise
        import tensorflow as tf  # by now it is there

        lost = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.DeadlineExceededError)
        if not isinstance(error, (*lost, tf.errors.CancelledError)):
            raise
        cluster = read_cluster()
        found = [f"{kind} {index}" for kind, index in _TASK.findall(str(error))]
        name = next((name for name in found if name != cluster.task and name in cluster.addresses), "")
        who = f"{name} ({cluster.addresses[name]})" if name else "one of the processes that train together"
        raise TemporaryError(
            f"{who} has ended or cannot be reached; start all processes again, with the same "
            "commands: they go on from the last checkpoint"
        ) from None
