"""Worker processes (--num_workers), and what they share: a socket, metrics and the weights."""

import contextlib
import dataclasses
import glob
import os
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from types import FrameType

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.path import CheckpointPath, file_version, find_checkpoint
from bert_cli.weights.variables import Reader, without_training_state

# After this many consecutive failures, no process is restarted.
_MAX_FAILURES = 5
# A process that ran longer than this did not fail at startup.
_STARTUP_SECONDS = 60.0
# Environment variable that prometheus_client reads at import time.
METRICS_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
# Alignment of shared weights in bytes, for vector instructions.
_ALIGNMENT = 64


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


@contextlib.contextmanager
def shared_metrics() -> Iterator[Callable[[], list[int]]]:
    """Share metrics between processes that are forked in the block, using a temporary directory.

    prometheus_client must not be imported before.

    Yields:
        A function that returns ids of all processes that answer requests, after this process.
    """
    server_pid = os.getpid()
    with contextlib.ExitStack() as stack:
        # Prefer a directory in memory, because each request writes there.
        for parent in ("/dev/shm", None):
            with contextlib.suppress(OSError):
                directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="bert_cli-metrics-", dir=parent))
                os.environ[METRICS_DIRECTORY] = directory
                break
        else:
            LOG.warning("warning: no directory for temporary files: each process counts its own /metrics")
        yield lambda: server_processes(server_pid)


def this_process() -> list[int]:
    """Return the id of this process, which does everything."""
    return [os.getpid()]


def server_processes(server_pid: int) -> list[int]:
    """Return ids of all processes that answer requests, after the process that started them."""
    if METRICS_DIRECTORY not in os.environ:
        return this_process()
    # prometheus_client removes these files when a process has ended.
    paths = glob.glob(os.path.join(os.environ[METRICS_DIRECTORY], "gauge_livesum_*.db"))
    workers = sorted(int(path.rpartition("_")[2].removesuffix(".db")) for path in paths)
    return [server_pid, *workers]


class SharedReader(Reader):
    """Reader that maps float32 values from a temporary file; other values are copied."""

    def __init__(self, reader: Reader):
        """Copy all weights from another reader."""
        self.description = reader.description
        self._reader = reader
        self.unused = reader.unused
        names = without_training_state(reader.shapes)
        self.shapes = {name: reader.shapes[name] for name in names}
        self._arrays: dict[str, np.ndarray] = {}
        positions: dict[str, tuple[int, tuple[int, ...]]] = {}
        end = 0
        # Use a file without a name: it disappears when the last process ends.
        with tempfile.TemporaryFile() as file:
            for name in names:
                values = np.asarray(reader.read(name))
                if values.dtype != np.float32:
                    self._arrays[name] = values
                    continue
                positions[name] = end, values.shape
                file.seek(end)
                file.write(values.tobytes())
                end += -(-values.nbytes // _ALIGNMENT) * _ALIGNMENT
            file.truncate(max(end, 1))
            file.flush()
            mapped = np.memmap(file, np.uint8, "r")
        for name, (start, shape) in positions.items():
            size = 4 * int(np.prod(shape))
            self._arrays[name] = np.asarray(mapped[start : start + size].view(np.float32).reshape(shape))

    @property
    def format_reader(self) -> Reader:
        """Return the copied reader."""
        return self._reader

    def read(self, name: str) -> np.ndarray:
        """Return the values, which must not be changed."""
        return self._arrays[name]

    def check_tied(self) -> None:
        """Check the masked LM's output matrix (see Reader)."""
        self._reader.check_tied()


class SharedCheckpoints:
    """Checkpoints with weights in memory, which processes that are forked later share."""

    def __init__(self, checkpoints: Iterable[CheckpointPath] = ()):
        """Read all weights."""
        # Get the versions first: a file that changes while it is read has then changed.
        self._versions = {checkpoint: file_version(checkpoint.location) for checkpoint in checkpoints}
        self._readers = {checkpoint: SharedReader(open_checkpoint(checkpoint)) for checkpoint in self._versions}

    def find(self, path: str) -> CheckpointPath:
        """Return the checkpoint at a path, with shared weights unless its files have changed."""
        checkpoint = find_checkpoint(path, "output_dir")
        if self._versions.get(checkpoint) != file_version(checkpoint.location):
            return checkpoint
        return dataclasses.replace(checkpoint, opened=self._readers[checkpoint])


@dataclasses.dataclass(frozen=True)
class Shared:
    """Everything that the processes of a server share.

    Attributes:
        listeners: listening sockets: for requests, and for metrics.
        list_processes: returns ids of all processes; the process that started the others comes first.
        checkpoints: checkpoints with weights in memory.
    """

    listeners: list[socket.socket]
    list_processes: Callable[[], list[int]]
    checkpoints: SharedCheckpoints = dataclasses.field(default_factory=SharedCheckpoints)
