"""Shared directory for metrics from several processes."""

import contextlib
import glob
import os
import tempfile
from collections.abc import Iterator

from bert_cli.base.log import LOG

# Environment variable that prometheus_client reads at import time.
METRICS_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"


class _Sharing:
    # Process id of the server, which starts the workers; None if one process does everything.
    server_pid: int | None = None


SHARING = _Sharing()


@contextlib.contextmanager
def shared_metrics() -> Iterator[None]:
    """Share metrics between processes that are forked in the block, using a temporary directory.

    prometheus_client must not be imported before.
    """
    SHARING.server_pid = os.getpid()
    with contextlib.ExitStack() as stack:
        # Prefer a directory in memory, because each request writes there.
        for parent in ("/dev/shm", None):
            with contextlib.suppress(OSError):
                directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="bert_cli-metrics-", dir=parent))
                os.environ[METRICS_DIRECTORY] = directory
                break
        else:
            LOG.warning("warning: no directory for temporary files: each process counts its own /metrics")
        yield


def server_processes() -> list[int]:
    """Return ids of all processes that answer requests, after the process that started them."""
    if SHARING.server_pid is None or METRICS_DIRECTORY not in os.environ:
        return [os.getpid()]
    # prometheus_client removes these files when a process has ended.
    paths = glob.glob(os.path.join(os.environ[METRICS_DIRECTORY], "gauge_livesum_*.db"))
    workers = sorted(int(path.rpartition("_")[2].removesuffix(".db")) for path in paths)
    return [SHARING.server_pid, *workers]
