"""Checks and locks for forked children, which do not inherit TensorFlow's threads.

A child that uses TensorFlow would wait for these threads forever.
"""

import os
import sys
import threading

from bert_cli.base.errors import InputError
from bert_cli.runtime.process import PROCESS


def refuse_lost_tensorflow() -> None:
    """Raise InputError in a forked child if TensorFlow had started in its parent."""
    if PROCESS.has_lost_tensorflow:
        raise InputError(
            "TensorFlow was started before this process was forked, and cannot compute in the child: load the model in "
            "each worker process (load_once) and not before the fork, or start workers with the method 'spawn'"
        )


class ForkedLock:
    """Reentrant lock for `with` that is free in a forked child, even if a parent's thread holds it."""

    def __init__(self) -> None:
        self._renew()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()


def _note_fork() -> None:
    tensorflow = sys.modules.get("tensorflow")
    # A fork during TensorFlow's import leaves a module without its submodules.
    threads = getattr(getattr(tensorflow, "config", None), "threading", None)
    if threads is None or PROCESS.has_lost_tensorflow:
        return
    count = threads.get_inter_op_parallelism_threads()
    try:
        # TensorFlow cannot be asked whether it has started, but then it refuses another number.
        threads.set_inter_op_parallelism_threads(count + 1)
        threads.set_inter_op_parallelism_threads(count)
    except RuntimeError:
        PROCESS.has_lost_tensorflow = True


os.register_at_fork(after_in_child=_note_fork)
