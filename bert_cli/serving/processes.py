"""Sockets, metrics and weights that worker processes (--num_workers) share, and facts from /proc."""

import contextlib
import dataclasses
import glob
import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.serving.keys import Certificate
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.path import CheckpointPath, file_version, find_checkpoint
from bert_cli.weights.variables import Reader, without_training_state

# Environment variable that prometheus_client reads at import time.
METRICS_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
# Alignment of shared weights in bytes, for vector instructions.
_ALIGNMENT = 64


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


def list_this_process() -> list[int]:
    """Return the id of this process, which does everything."""
    return [os.getpid()]


def server_processes(server_pid: int) -> list[int]:
    """Return ids of all processes that answer requests, after the process that started them."""
    if METRICS_DIRECTORY not in os.environ:
        return list_this_process()
    # prometheus_client removes these files when a process has ended.
    paths = glob.glob(os.path.join(os.environ[METRICS_DIRECTORY], "gauge_livesum_*.db"))
    workers = sorted(int(path.rpartition("_")[2].removesuffix(".db")) for path in paths)
    return [server_pid, *workers]


def read_stat(process: int) -> list[int]:
    """Return the numbers in /proc/PID/stat after the state, or [] if the process does not exist."""
    try:
        with open(f"/proc/{process}/stat", encoding="latin-1") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return []
    # A process that has ended, but was not waited for, answers no requests.
    return [] if fields[0] == "Z" else [0, *map(int, fields[1:])]


def read_memory(process: int, is_shared: bool) -> int:
    """Return a process's resident memory in bytes, or 0 if it does not exist.

    Args:
        process: the process id.
        is_shared: divide memory by the number of processes that share it.
    """
    with contextlib.suppress(OSError):
        if is_shared:
            with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
                return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
        with open(f"/proc/{process}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def count_files(process: int) -> int:
    """Return how many files a process has open, or 0 if it does not exist."""
    with contextlib.suppress(OSError):
        return len(os.listdir(f"/proc/{process}/fd"))
    return 0


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

    def __init__(self, checkpoints: Mapping[str, CheckpointPath] | None = None):
        """Read all weights.

        Args:
            checkpoints: checkpoints by path, see `find`.
        """
        self._checkpoints = checkpoints or {}
        # Get the versions first: a file that changes while it is read has then changed.
        self._versions = {checkpoint: file_version(checkpoint.location) for checkpoint in self._checkpoints.values()}
        self._readers = {checkpoint: SharedReader(open_checkpoint(checkpoint)) for checkpoint in self._versions}

    def find(self, path: str, flag: str = "output_dir") -> CheckpointPath:
        """Return the checkpoint at a path, with shared weights unless its files have changed.

        If there is no complete checkpoint now, this is the one whose weights are in memory.

        Args:
            path: a checkpoint, or a directory with some.
            flag: the flag that names it, for messages.
        """
        try:
            checkpoint = find_checkpoint(path, flag)
        except InputError as error:
            if path not in self._checkpoints:
                raise
            LOG.warning("warning: %s; the weights in memory are used", error)
            return self._with_weights(self._checkpoints[path])
        if self._versions.get(checkpoint) != file_version(checkpoint.location):
            return checkpoint
        return self._with_weights(checkpoint)

    def _with_weights(self, checkpoint: CheckpointPath) -> CheckpointPath:
        return dataclasses.replace(checkpoint, opened=self._readers[checkpoint])


@dataclasses.dataclass(frozen=True)
class SharedResources:
    """Everything that the processes of a server share.

    Attributes:
        listeners: listening sockets: for requests, and for metrics.
        list_processes: returns ids of all processes; the process that started the others comes first.
        checkpoints: checkpoints with weights in memory.
        certificate: certificate for TLS, or None.
    """

    listeners: list[socket.socket]
    list_processes: Callable[[], list[int]]
    checkpoints: SharedCheckpoints = dataclasses.field(default_factory=SharedCheckpoints)
    certificate: Certificate | None = None
