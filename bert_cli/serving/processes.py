"""Worker processes (--num_workers) that share a socket and the weights."""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from types import FrameType

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.serving.monitoring.sharing import METRICS_DIRECTORY

# After this many consecutive failures, no process is restarted.
_MAX_FAILURES = 5
# A process that ran longer than this did not fail at startup.
_STARTUP_SECONDS = 60.0


def run_workers(count: int, work: Callable[[], None], reload: Callable[[], None]) -> int:
    """Run `work` in `count` forked processes until SIGTERM or SIGINT, and return the exit code.

    A process that dies is replaced. After several failures in a row, all processes end.

    Args:
        count: number of processes.
        work: the work of a process, which handles SIGHUP when it is ready.
        reload: called in this process on SIGHUP, which all processes then get. May raise
            InputError, which the processes report.
    """
    from prometheus_client.multiprocess import mark_process_dead

    start_times: dict[int, float] = {}  # by process id, from time.monotonic()
    received_signals: list[int] = []

    def end_workers(signal_number: int, frame: FrameType | None) -> None:
        received_signals.append(signal_number)
        for process in start_times:
            os.kill(process, signal.SIGTERM)

    def reload_workers(signal_number: int, frame: FrameType | None) -> None:
        # Later processes are forked from this one, so it needs the new settings too.
        with contextlib.suppress(InputError):
            reload()
        for process in start_times:
            os.kill(process, signal.SIGHUP)

    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, end_workers)
    signal.signal(signal.SIGHUP, reload_workers)
    failures = 0
    while True:
        while len(start_times) < count and not received_signals:
            # A new process keeps SIGHUP blocked until it is ready, and reloads then.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
            start_times[_fork_worker(work)] = time.monotonic()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
        if not start_times:
            return 0 if failures < _MAX_FAILURES else 1
        try:
            process, status = os.wait()
        except InterruptedError:
            continue
        start_time = start_times.pop(process, None)
        # Process 1 of a container also gets the end of processes that it did not start.
        if start_time is None:
            continue
        seconds = time.monotonic() - start_time
        if METRICS_DIRECTORY in os.environ:
            mark_process_dead(process)
        if status and not received_signals:
            failures = failures + 1 if seconds < _STARTUP_SECONDS else 1
            LOG.error("error: a server process ended with status %d", os.waitstatus_to_exitcode(status))
            if failures >= _MAX_FAILURES:
                end_workers(signal.SIGTERM, None)


def _fork_worker(work: Callable[[], None]) -> int:
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signal_number, signal.SIG_DFL)
        work()
        code = 0
    except Exception as error:
        LOG.error("error: %s", error if isinstance(error, InputError) else f"{type(error).__name__}: {error}")
    finally:
        # Do not use sys.exit: it would run the exit handlers of the parent process.
        os._exit(code)
