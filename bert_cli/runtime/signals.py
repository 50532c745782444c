"""Signals that ask a process to end: Ctrl-C, SIGTERM (of a scheduler, or kill), SIGHUP (of a
terminal that is closed).

Exit codes are the shell's: 128 and the number of the signal.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

_NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP"}


class Stopped(BaseException):
    """Somebody asked the process to end. As with KeyboardInterrupt, only a command's outermost
    function catches it.

    `number`: of the signal. `said`: the last action before the end; "" for nothing to log.
    """

    def __init__(self, number: int, said: str = ""):
        super().__init__(said)
        self.number = number
        self.said = said

    @property
    def exit_code(self) -> int:
        return 128 + self.number

    @property
    def name(self) -> str:
        """What messages call the signal."""
        return _NAMES[signal.Signals(self.number)]


@contextlib.contextmanager
def _handled(first: Callable[[int], None]) -> Iterator[None]:
    """Within it the first of these signals calls first(number), and a second one ends the process
    at once.

    One that is ignored, as SIGHUP under nohup and SIGINT in the background of a script, stays so.
    Only the main thread can set handlers: in another one nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    owner = os.getpid()
    received: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if received or os.getpid() != owner:  # a process that was forked has no part in it
            # sys.exit would wait for threads and run the exit handlers, in a process that shall end
            # now.
            os._exit(128 + number)
        received.append(number)
        first(number)

    # None: a handler that was not set by Python, which could not be put back.
    before = {number: signal.getsignal(number) for number in _NAMES}
    changed = {number: old for number, old in before.items() if old not in (signal.SIG_IGN, None)}
    for number in changed:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, old in changed.items():
            signal.signal(number, old)


@contextlib.contextmanager
def ended_by_system(seconds: float) -> Iterator[None]:
    """Let the system end the process within the block, on a signal or with SIGALRM after a time.

    For calls that hold Python's lock. Signals that are ignored stay so. Only the main thread can
    change this: in another one, nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (*_NAMES, signal.SIGALRM)}
    changed = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    for number in changed:
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in changed.items():
            signal.signal(number, handler)


def _raise(number: int) -> None:
    raise KeyboardInterrupt if number == signal.SIGINT else Stopped(number)


def raised() -> contextlib.AbstractContextManager[None]:
    """Within it SIGTERM and SIGHUP raise Stopped, as Ctrl-C raises KeyboardInterrupt, so that
    things are put in order.
    """
    return _handled(_raise)


class Request:
    """Whether the process was asked to end: `number` is the signal's, None as long as nobody did."""

    number: int | None = None

    def is_made(self) -> bool:
        return self.number is not None


@contextlib.contextmanager
def deferred(report: Callable[[str], None]) -> Iterator[Request]:
    """Note a signal within the block, for work that checks the request and ends in good order.

    Args:
        report: logs the name of the signal; called in another thread.
    """
    # Import late: only a training needs it, and a text must be answered fast.
    from queue import SimpleQueue

    request = Request()
    names: SimpleQueue[str | None] = SimpleQueue()

    def note(number: int) -> None:
        # Nothing but this: the main thread may be in the middle of a log line, which must not be
        # entered twice, and an error here would end the work. This `put` may interrupt itself.
        request.number = number
        names.put(Stopped(number).name)

    def report_names() -> None:
        while name := names.get():
            report(name)

    reporter = threading.Thread(target=report_names, daemon=True)
    reporter.start()
    try:
        with _handled(note):
            yield request
    finally:
        names.put(None)
        # A terminal that is held with Ctrl-S may keep the line for ever.
        reporter.join(timeout=1.0)
