"""Process pool with results in order and only a few items in progress at any time."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Self

from bert_cli.base.errors import InputError

# Items in progress per process: one being computed, one waiting.
_PIECES = 2
_context: Any = None  # the data shared by all calls in a worker process


def _start(context: Any) -> None:
    global _context  # noqa: PLW0603 - the executor has no other place for it
    _context = context
    # Ctrl-C reaches all processes of the terminal, but only the main process reports it. If it is
    # ignored, as in a command that a shell script runs in the background, keep ignoring it.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Exit together with the parent: a worker would otherwise wait for work forever."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "only worker processes are started with it"
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)


def _call(function: Callable, item: Any) -> Any:
    return function(_context, item)


class Workers:
    """A context with `count` processes; with a count of 1, this process does all the work.

    `context` goes to each process once, so it can be large. It must be picklable, like all
    arguments and results.
    """

    def __init__(self, count: int, context: Any):
        self.count = count
        self.context = context
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        if self.count > 1:
            # Do not fork: a copy of a process with threads (TensorFlow, BLAS) can hang.
            self._pool = ProcessPoolExecutor(
                self.count, multiprocessing.get_context("spawn"), initializer=_start, initargs=(self.context,)
            )
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    def map(self, function: Callable, items: Iterable) -> Iterator:
        """Yield function(context, item) for each item, in order.

        `items` is read only when a process is free. Exceptions of the function are raised here.

        Raises:
            InputError: a worker process was killed.
        """
        if self._pool is None:
            for item in items:
                yield function(self.context, item)
            return
        pending: deque = deque()
        try:
            for item in items:
                pending.append(self._pool.submit(_call, function, item))
                # The executor alone would read all items immediately: a corpus would fill the
                # memory.
                if len(pending) >= _PIECES * self.count:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except BrokenProcessPool:
            raise InputError("a worker process was killed, perhaps because memory ran out; try fewer workers") from None
