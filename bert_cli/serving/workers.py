"""The process that starts worker processes (--num_workers), and replaces those that end."""

import contextlib
import dataclasses
import os
import select
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from types import FrameType

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.runtime.systemd import SOCKET_VARIABLE, notify_systemd
from bert_cli.serving.processes import METRICS_DIRECTORY

# Pause before a process is replaced again after it failed; each failure doubles it.
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 30.0
# A process that answered requests this long did not fail at startup.
_STABLE_SECONDS = 60.0
# The server ends if no process could be started for this long.
_DOWN_SECONDS = 60.0
_ENDING_SIGNALS = {signal.SIGTERM, signal.SIGINT}


@dataclasses.dataclass(frozen=True)
class Supervisor:
    """The process that started this one, as a worker sees it.

    Attributes:
        process: its id; None if this process was not started as a worker.
        pipe: descriptor to which a worker writes when it is ready.
    """

    process: int | None = None
    pipe: int = -1

    def note_ready(self) -> None:
        """Report that this process answers requests."""
        if self.process is None:
            notify_systemd("READY=1")
        else:
            # Nobody reads it if the supervisor has just ended.
            with contextlib.suppress(OSError):
                os.write(self.pipe, os.getpid().to_bytes(4, "little"))

    def has_ended(self) -> bool:
        """Return whether this worker has lost its supervisor."""
        return self.process is not None and os.getppid() != self.process


@dataclasses.dataclass
class _Worker:
    """A worker process: the time when it became ready, None before."""

    ready_time: float | None = None


class _Workers:
    """The running workers, and the times of starts and failures, from time.monotonic()."""

    def __init__(self, count: int, work: Callable[[Supervisor], None], note_restart: Callable[[], None]):
        self.running: dict[int, _Worker] = {}
        self.is_ending = False
        self._count = count
        self._work = work
        self._note_restart = note_restart
        self._num_started = 0
        self._num_failures = 0
        self._next_start = 0.0
        # When the last process that answered requests ended; None before the first one.
        self._down_since: float | None = None
        self._has_been_ready = False
        self._ready_pipe, self._worker_pipe = os.pipe()
        # A pipe that signals write to, because select would miss a signal just before it.
        self._signal_pipe, signal_writer = os.pipe()
        for descriptor in (self._ready_pipe, self._signal_pipe, signal_writer):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(signal_writer)

    def run(self) -> int:
        """Start, replace and await workers until the end, and return the exit code."""
        while True:
            self._start()
            exit_code = self._exit_code()
            if exit_code is not None:
                return exit_code
            missing = len(self.running) < self._may_run()
            seconds = max(0.0, self._next_start - time.monotonic()) if missing else None
            for descriptor in select.select([self._ready_pipe, self._signal_pipe], [], [], seconds)[0]:
                self._read(descriptor)
            self._reap()

    def signal_all(self, number: int) -> None:
        """Send a signal to all workers."""
        for process in list(self.running):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def _may_run(self) -> int:
        """Return how many workers there should be now."""
        if self.is_ending:
            return 0
        # Until one answers, a failed worker is not replaced: a wrong flag fails in each of them.
        return self._count if self._has_been_ready or self._num_started < self._count else len(self.running)

    def _start(self) -> None:
        while len(self.running) < self._may_run() and time.monotonic() >= self._next_start:
            # Signals must not come before the process is in the table. A worker keeps SIGHUP
            # blocked until it is ready, and reloads then.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP, *_ENDING_SIGNALS})
            if self._num_started >= self._count:
                self._note_restart()
            self._num_started += 1
            self.running[_fork(self._work, Supervisor(os.getpid(), self._worker_pipe))] = _Worker()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP, *_ENDING_SIGNALS})

    def _exit_code(self) -> int | None:
        if self.running:
            return None
        if self.is_ending:
            return 0
        is_down = self._down_since is not None and time.monotonic() - self._down_since >= _DOWN_SECONDS
        return 1 if is_down or not self._has_been_ready else None

    def _read(self, descriptor: int) -> None:
        with contextlib.suppress(BlockingIOError):
            data = os.read(descriptor, 4096)
            if descriptor == self._signal_pipe:
                return
            for start in range(0, len(data), 4):
                worker = self.running.get(int.from_bytes(data[start : start + 4], "little"))
                if worker:
                    worker.ready_time = time.monotonic()
            if not self._has_been_ready:
                notify_systemd("READY=1")
            self._has_been_ready, self._down_since = True, None

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                process, status = ended
                # Process 1 of a container also gets the end of processes that it did not start.
                worker = self.running.pop(process, None)
                if worker:
                    self._note_end(process, worker, status)

    def _note_end(self, process: int, worker: _Worker, status: int) -> None:
        if METRICS_DIRECTORY in os.environ:
            from prometheus_client.multiprocess import mark_process_dead

            mark_process_dead(process)
        if self.is_ending:
            return
        now = time.monotonic()
        if worker.ready_time and not any(other.ready_time for other in self.running.values()):
            self._down_since = now
        if worker.ready_time and now - worker.ready_time >= _STABLE_SECONDS:
            self._num_failures = 0
        pause = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2 ** (self._num_failures - 1))
        # The first one is replaced immediately.
        self._next_start = now + (pause if self._num_failures else 0.0)
        self._num_failures += 1
        reason = _describe_end(status)
        if not self._has_been_ready:
            LOG.error("error: the server process %d ended %s", process, reason)
        elif self._num_failures == 1:
            LOG.error("error: the server process %d ended %s; another one starts now", process, reason)
        else:
            LOG.error("error: the server process %d ended %s; another one starts in %g s", process, reason, pause)


def _describe_end(status: int) -> str:
    exit_code = os.waitstatus_to_exitcode(status)
    if exit_code >= 0:
        return f"with exit code {exit_code}"
    return f"by {signal.Signals(-exit_code).name}"


def run_workers(
    count: int,
    work: Callable[[Supervisor], None],
    reloads: Sequence[Callable[[], None]],
    note_restart: Callable[[], None],
) -> int:
    """Run `work` in `count` forked processes until SIGTERM or SIGINT, and return the exit code.

    A process that ends is replaced, after a pause if it is not the first one. The server ends if all
    processes failed before one was ready, or if none could be started for a minute.

    Args:
        count: number of processes.
        work: the work of a process, which handles SIGHUP when it is ready.
        reloads: functions to call in this process on SIGHUP, which all processes then get. If one
            raises InputError, the others are called, and the processes report it.
        note_restart: called when a process is replaced.
    """
    workers = _Workers(count, work, note_restart)

    def end_workers(signal_number: int, frame: FrameType | None) -> None:
        workers.is_ending = True
        notify_systemd("STOPPING=1")
        workers.signal_all(signal.SIGTERM)

    def reload_workers(signal_number: int, frame: FrameType | None) -> None:
        # Later processes are forked from this one, so it needs the new settings too.
        for reload in reloads:
            with contextlib.suppress(InputError):
                reload()
        workers.signal_all(signal.SIGHUP)

    for signal_number in _ENDING_SIGNALS:
        signal.signal(signal_number, end_workers)
    signal.signal(signal.SIGHUP, reload_workers)
    return workers.run()


def _fork(work: Callable[[Supervisor], None], supervisor: Supervisor) -> int:
    """Start a worker and return its process id."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        # systemd listens to the supervisor alone.
        os.environ.pop(SOCKET_VARIABLE, None)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for signal_number in _ENDING_SIGNALS:
            signal.signal(signal_number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING_SIGNALS)
        work(supervisor)
        code = 0
    except Exception as error:
        LOG.error("error: %s", error if isinstance(error, InputError) else f"{type(error).__name__}: {error}")
    finally:
        if supervisor.has_ended() and METRICS_DIRECTORY in os.environ:
            shutil.rmtree(os.environ[METRICS_DIRECTORY], ignore_errors=True)
        # Do not use sys.exit: it would run the exit handlers of the parent process.
        os._exit(code)
