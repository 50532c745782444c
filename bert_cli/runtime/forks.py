"""Forked children: TensorFlow's threads stay in the parent, so that a child would wait for them forever."""

import os
import sys
import threading

from bert_cli.base.errors import InputError
from bert_cli.runtime.process import PROCESS


def refuse_lost_tensorflow() -> None:
    """Raise InputError in a forked child of a process in which TensorFlow had started."""
    if PROCESS.has_lost_tensorflow:
        raise InputError(
            "TensorFlow was started before this process was forked, and cannot compute in the child: load the model in "
            "each worker process (load_once) and not before the fork, or start workers with the method 'spawn'"
        )


class ForkedLock:
    """A reentrant lock for `with`, which is free in a forked child whatever threads the parent has."""

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
    # A fork within the import of TensorFlow finds a module without its parts.
    threads = getattr(getattr(tensorflow, "config", None), "threading", None)
    if threads is None or PROCESS.has_lost_tensorflow:
        return
    count = threads.get_inter_op_parallelism_threads()
    try:
        # TensorFlow refuses another number once it has started, and has no question for that.
        threads.set_inter_op_parallelism_threads(count + 1)
        threads.set_inter_op_parallelism_threads(count)
    except RuntimeError:
        PROCESS.has_lost_tensorflow = True


os.register_at_fork(after_in_child=_note_fork)
