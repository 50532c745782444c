"""--num_workers: several processes that listen on one socket and share the weights in memory."""

import os
import signal
import time
from collections.abc import Callable
from types import FrameType

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG

_MOST_RESTARTS = 5  # of processes that ended by themselves, in a row
_LONG = 60.0  # seconds; a process that ran longer had no error of its start


def run_workers(count: int, work: Callable[[], None]) -> int:
    """Run `work` in processes that are forked from this one, until a signal asks for the end; one
    that dies is started again. Returns the exit code.
    """
    running: dict[int, float] = {}  # process -> when it began
    ending: list[int] = []

    def forward(number: int, frame: FrameType | None) -> None:
        ending.append(number)
        for process in running:
            os.kill(process, signal.SIGTERM)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, forward)
    failures = 0
    while True:
        while len(running) < count and not ending:
            running[_forked(work)] = time.monotonic()
        if not running:
            return 0 if failures < _MOST_RESTARTS else 1
        try:
            process, status = os.wait()
        except InterruptedError:
            continue
        seconds = time.monotonic() - running.pop(process)
        if status and not ending:
            failures = failures + 1 if seconds < _LONG else 1
            LOG.error("error: a server process ended with status %d", os.waitstatus_to_exitcode(status))
            if failures >= _MOST_RESTARTS:
                forward(signal.SIGTERM, None)


def _forked(work: Callable[[], None]) -> int:
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        work()
        code = 0
    except Exception as error:
        LOG.error("error: %s", error if isinstance(error, InputError) else f"{type(error).__name__}: {error}")
    finally:
        # Not sys.exit: the exit handlers belong to the process that was forked.
        os._exit(code)
