"""Temporary directories for tokenized texts, which the next start removes after a SIGKILL."""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator

from bert_cli.base.log import LOG

_PREFIX = "bert_cli-corpus-"
_LOCK = "lock"


@contextlib.contextmanager
def corpus_directory() -> Iterator[str]:
    """Make a temporary directory for the block, after removing directories of killed processes.

    The directory has a locked file. The kernel releases the lock when the process ends in any way,
    also if the process ran in another container.
    """
    remove_stale_directories()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder, _locked_file(folder):
        yield folder


@contextlib.contextmanager
def _locked_file(folder: str) -> Iterator[None]:
    path = os.path.join(folder, _LOCK)
    descriptor = os.open(f"{path}.new", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        # Without locks in this filesystem, no file has the final name, and nobody removes it.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Rename only now, so that no process finds the file before it is locked.
            os.rename(f"{path}.new", path)
        yield
    finally:
        os.close(descriptor)


def remove_stale_directories() -> None:
    """Remove this user's directories that ended processes left, and log a line for each."""
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and _is_stale(entry.path):
                shutil.rmtree(entry.path, ignore_errors=True)
                LOG.info("removed %s: a process that was killed left these tokenized texts", entry.path)


def _is_stale(folder: str) -> bool:
    """Return whether a directory belongs to this user, and its process has ended."""
    try:
        state = os.lstat(folder)
        # Others may create such names in a shared directory.
        if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.geteuid():
            return False
        descriptor = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
