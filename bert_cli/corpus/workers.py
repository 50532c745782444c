"""Work spread over processes: results come in order, and only a few pieces are under way at any
time.
"""

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

# Pieces under way for each process: one in work, one that waits for it.
_PIECES = 2
_context: Any = None  # in a worker process: what all of its calls share


def _start(context: Any) -> None:
    global _context  # noqa: PLW0603 - the executor has no other place for it
    _context = context
    # Ctrl-C goes to all processes of the terminal; only the main process reports it. Where it is
    # ignored, as by a command that a shell script runs in the background, it stays so.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Exit with the parent: a worker would otherwise wait for work forever."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "only worker processes are started with it"
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)


def _call(function: Callable, item: Any) -> Any:
    return function(_context, item)


class Workers:
    """A context with `count` processes; with a count of 1, all is done in this one.

    `context` goes to each process once, so it can be large; it must be picklable, as all that is
    passed and returned.
    """

    def __init__(self, count: int, context: Any):
        self.count = count
        self.context = context
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        if self.count > 1:
            # Not fork: a copy of a process with threads (TensorFlow, BLAS) can hang.
            self._pool = ProcessPoolExecutor(
                self.count, multiprocessing.get_context("spawn"), initializer=_start, initargs=(self.context,)
            )
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    def map(self, function: Callable, items: Iterable) -> Iterator:
        """function(context, item) for each item, in order; `items` is read only as far as there is
        somebody to work.

        Raises what the function raises, and InputError where a process was killed.
        """
        if self._pool is None:
            for item in items:
                yield function(self.context, item)
            return
        pending: deque = deque()
        try:
            for item in items:
                pending.append(self._pool.submit(_call, function, item))
                # The executor alone would read all items at once: a corpus would be in memory.
                if len(pending) >= _PIECES * self.count:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except BrokenProcessPool:
            raise InputError("a worker process was killed, perhaps because memory ran out; try fewer workers") from None
