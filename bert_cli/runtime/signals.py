"""Signals that ask a process to end: Ctrl-C, SIGTERM and SIGHUP.

Schedulers and `kill` send SIGTERM, and closed terminals send SIGHUP. Exit codes are the shell's:
128 plus the signal's number.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

_NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP"}


class Stopped(BaseException):
    """Exception for a signal that asks the process to end.

    Like KeyboardInterrupt, it is only caught in a command's outermost function.

    Attributes:
        number: the signal's number.
        message: text to log about the last action, or "" for the standard text.
        output_dir: directory with what a training from Python has learned, if the caller gave none.
    """

    output_dir: str | None = None

    def __init__(self, number: int, message: str = ""):
        super().__init__(message)
        self.number = number
        self.message = message

    @property
    def exit_code(self) -> int:
        return 128 + self.number

    @property
    def name(self) -> str:
        """Return the signal's name in messages."""
        return _NAMES[signal.Signals(self.number)]


class Interrupted(Stopped, KeyboardInterrupt):
    """Exception for Ctrl-C, which programs that catch KeyboardInterrupt catch as well."""


def stop_exception(number: int, message: str) -> Stopped:
    """Return the exception for a signal, with the attributes of `Stopped`."""
    return (Interrupted if number == signal.SIGINT else Stopped)(number, message)


@contextlib.contextmanager
def _handling(on_first: Callable[[int], None]) -> Iterator[None]:
    """Call on_first(number) on the first of these signals in the block; a second ends the process.

    Ignored signals stay ignored, such as SIGHUP under nohup and SIGINT in a script's background.
    Only the main thread can set handlers, so nothing changes in other threads.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    owner = os.getpid()
    received: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if received or os.getpid() != owner:  # forked children do not handle signals
            # sys.exit would wait for threads and run exit handlers, but the process must end now.
            os._exit(128 + number)
        received.append(number)
        on_first(number)

    # None means that the handler was not set by Python and could not be restored.
    old_handlers = {number: signal.getsignal(number) for number in _NAMES}
    replaced_handlers = {
        number: handler for number, handler in old_handlers.items() if handler not in (signal.SIG_IGN, None)
    }
    for number in replaced_handlers:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in replaced_handlers.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def blocking_signal(number: int) -> Iterator[None]:
    """Let a signal wait in the block; code in the block may unblock it, and handle it then.

    Threads that start in the block wait, too. Threads from before would still receive the signal.
    """
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)


@contextlib.contextmanager
def ending_on_sigterm(line: str) -> Iterator[None]:
    """End the process with exit code 0 on SIGTERM in the block, without an exception.

    An exception may come while a C extension is imported, which then reports another error. Only
    the main thread can handle signals, so nothing changes in other threads.

    Args:
        line: message for standard error.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        # The main thread may be writing to the log, which is not reentrant.
        with contextlib.suppress(OSError):
            os.write(2, f"{line}\n".encode())
        os._exit(0)

    old_handler = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, old_handler)


@contextlib.contextmanager
def default_signal_handling(seconds: float) -> Iterator[None]:
    """Let the system end the process in the block, on a signal or with SIGALRM after a time.

    Use it for calls that hold Python's lock. Ignored signals stay ignored. Only the main thread can
    change this, so nothing changes in other threads.

    Args:
        seconds: time until SIGALRM.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old_handlers = {number: signal.getsignal(number) for number in (*_NAMES, signal.SIGALRM)}
    replaced_handlers = {
        number: handler for number, handler in old_handlers.items() if handler not in (signal.SIG_IGN, None)
    }
    for number in replaced_handlers:
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in replaced_handlers.items():
            signal.signal(number, handler)


def _raise_for(number: int) -> None:
    raise KeyboardInterrupt if number == signal.SIGINT else Stopped(number)


def raising_on_signals() -> contextlib.AbstractContextManager[None]:
    """Raise Stopped in the block on SIGTERM and SIGHUP, as Ctrl-C raises KeyboardInterrupt.

    Code can then clean up before the process ends.
    """
    return _handling(_raise_for)


class StopRequest:
    """Signal that was received, if any.

    Attributes:
        number: the signal's number, None before one is received.
    """

    number: int | None = None

    def is_made(self) -> bool:
        """Return whether a signal was received."""
        return self.number is not None


@contextlib.contextmanager
def deferring_signals(report: Callable[[str], None]) -> Iterator[StopRequest]:
    """Record a signal in the block without interrupting it, and yield the StopRequest.

    The work in the block checks the request and ends cleanly.

    Args:
        report: function that logs the signal's name. It is called in another thread.
    """
    # Import late: only training needs it, and answering a text must start fast.
    from queue import SimpleQueue

    request = StopRequest()
    names: SimpleQueue[str | None] = SimpleQueue()

    def note(number: int) -> None:
        # Do nothing else here: the main thread may be writing a log line, which is not reentrant,
        # and an error would end the work. `put` is reentrant.
        request.number = number
        names.put(Stopped(number).name)

    def report_names() -> None:
        while name := names.get():
            report(name)

    reporter = threading.Thread(target=report_names, daemon=True)
    reporter.start()
    try:
        with _handling(note):
            yield request
    finally:
        names.put(None)
        # A terminal that is paused with Ctrl-S may block the line forever.
        reporter.join(timeout=1.0)
