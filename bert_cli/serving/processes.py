"""--num_workers: several processes that listen on one socket and share the weights in memory."""

import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from types import FrameType

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG

METRICS_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"  # variable that prometheus_client reads when it is imported
_MOST_RESTARTS = 5  # of processes that ended by themselves, in a row
_LONG = 60.0  # seconds; a process that ran longer had no error of its start


@contextlib.contextmanager
def shared_metrics() -> Iterator[None]:
    """Let the processes that are forked within the block count together, in files of a temporary directory.

    prometheus_client must not be imported before.
    """
    with contextlib.ExitStack() as stack:
        # In memory, if possible: each request writes there.
        for parent in ("/dev/shm", None):
            with contextlib.suppress(OSError):
                directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="bert_cli-metrics-", dir=parent))
                os.environ[METRICS_DIRECTORY] = directory
                break
        else:
            LOG.warning("warning: no directory for temporary files: each process counts its own /metrics")
        yield


def run_workers(count: int, work: Callable[[], None]) -> int:
    """Run `work` in processes that are forked from this one, until a signal asks for the end.

    A process that dies is started again. Return the exit code.
    """
    from prometheus_client.multiprocess import mark_process_dead

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
        if METRICS_DIRECTORY in os.environ:
            mark_process_dead(process)
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
