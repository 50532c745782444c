"""Lock that keeps other runs out of an output directory: a lock file and a system lock on it.

The file names the owner. Alone, it would outlive a killed run. The system lock alone is local to
one machine on many network filesystems. If a run can see that the owner's process has ended, it
takes over the lock. If it cannot find out, the lock counts as held while its file is recent: a
running process touches it.
"""

import contextlib
import errno
import fcntl
import json
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import BusyError, InputError, explain_write_error
from bert_cli.base.json_files import parse_json
from bert_cli.base.log import LOG, warn_once
from bert_cli.base.names import LOCK, MANIFEST, STATE
from bert_cli.runtime.cluster import is_writer
from bert_cli.runtime.process import Owner, this_process

# Network filesystems may show a modification time a minute late.
_TOUCH_INTERVAL_SECONDS, _MAX_AGE_SECONDS = 15, 120
_held_here: set[int] = set()  # descriptors of this process's lock files
_MAX_BYTES = 1 << 16  # bytes read from a lock file
_PROCESS_LIMIT = 1 << 31  # process numbers are smaller
_LOCKED_ERRORS = (errno.EWOULDBLOCK, errno.EACCES)


class DirectoryLock:
    """Lock on an output directory, which was free when this object was made.

    If several processes train together, only the writing process checks and holds the lock. A
    remote directory cannot be locked.
    """

    def __init__(self, path: str, distribution_strategy: str):
        """Check that no other run uses the directory, without changing anything.

        Args:
            path: the directory, which may not exist yet.

        Raises:
            BusyError: if another run holds the lock.
        """
        self._path = path
        self._is_writer = is_writer(distribution_strategy)
        lock_path = os.path.join(path, LOCK)
        is_read = self._is_writer and not files.is_remote(path)
        if is_read and os.path.isfile(lock_path) and os.access(lock_path, os.R_OK):
            with open(lock_path, "rb") as file:
                is_free = _try_lock(file.fileno(), path)
                if is_free:
                    fcntl.flock(file.fileno(), fcntl.LOCK_UN)
                _raise_if_held(lock_path, is_free, _parse_owner(lock_path, file.read(_MAX_BYTES)))
        self._last_run = self._last_run_times()

    def _last_run_times(self) -> tuple:
        """Return when a run last changed the manifest and the state file, in ns; None if missing."""
        if files.is_remote(self._path):
            return ()
        paths = (os.path.join(self._path, name) for name in (MANIFEST, STATE))
        return tuple(os.stat(path).st_mtime_ns if os.path.exists(path) else None for path in paths)

    @contextlib.contextmanager
    def hold(self, command: str) -> Iterator[None]:
        """Make the directory if it is missing, and keep other runs out of it.

        Args:
            command: command name, used in messages of other runs.

        Raises:
            BusyError: if another run holds the lock, or has written into the directory since this
                object was made.
        """
        path = self._path
        if not self._is_writer:
            yield
        elif files.is_remote(path):
            LOG.warning("warning: %s cannot be locked: no other run may write there at the same time", path)
            yield
        else:
            with _make_directory(path), _hold_lock_file(os.path.join(path, LOCK), command):
                if self._last_run_times() != self._last_run:
                    raise BusyError(f"{path}: another run wrote into it just now; give the same command again")
                yield


def _try_lock(descriptor: int, directory: str) -> bool | None:
    """Try to take the system lock on an open lock file.

    Args:
        descriptor: the file's descriptor.
        directory: the file's directory, used in the warning.

    Returns:
        True if the lock was free, False if another process holds it, None if the filesystem cannot
        lock.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _LOCKED_ERRORS:
            return False
        # This is NFS without a lock daemon, or a FUSE filesystem.
        warn_once(
            f"warning: {directory} is on a filesystem that cannot lock ({error.strerror}): its file {LOCK} alone "
            "keeps other runs out"
        )
        return None
    return True


def _parse_owner(path: str, data: bytes) -> Owner | None:
    """Return the owner from a lock file; None if the file is damaged, for example by a power cut."""
    try:
        values: Any = parse_json(data, path)
        owner = Owner(**values)
        return owner if isinstance(owner.process, int) and 0 < owner.process < _PROCESS_LIMIT else None
    except (InputError, TypeError):
        return None


def _raise_if_held(path: str, is_lock_free: bool | None, owner: Owner | None) -> None:
    """Raise BusyError if another run holds the lock.

    Args:
        path: the lock file.
        is_lock_free: see _try_lock.
        owner: owner from the lock file, or None.
    """
    folder = os.path.dirname(path)
    stat = os.stat(path)
    is_running = owner and owner.is_running(stat, bool(is_lock_free))
    if is_lock_free is False or is_running:
        raise BusyError(
            f"{folder}: another run is at work there ({owner or 'which has just begun'}); wait for "
            "its end, or use another --output_dir"
        )
    age = time.time() - stat.st_mtime
    if owner and is_running is None and age < _MAX_AGE_SECONDS:
        raise BusyError(
            f"{folder}: another run is at work there ({owner}); it cannot be seen from here, but "
            f"{path} was touched {max(0, age):.0f} s ago: give the same command again after its end, "
            f"or, if it was killed, in {_MAX_AGE_SECONDS - max(0, age):.0f} s"
        )


@contextlib.contextmanager
def _make_directory(path: str) -> Iterator[None]:
    """Make the directory; at the end, remove it again if it is empty, as after a refusal.

    A directory that did not change gets its old times back.
    """
    before = _file_stats(path)
    stat = os.stat(path) if os.path.isdir(path) else None
    missing = []
    ancestor = os.path.abspath(path)
    while not os.path.lexists(ancestor):
        missing.append(ancestor)  # innermost first, which is the order of removal
        ancestor = os.path.dirname(ancestor)
    files.make_directory(path)
    try:
        yield
    finally:
        for directory in missing:
            with contextlib.suppress(OSError):  # it is no longer empty
                os.rmdir(directory)
        if stat and _file_stats(path) == before:
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@contextlib.contextmanager
def _hold_lock_file(path: str, command: str) -> Iterator[None]:
    """Own the lock file, and touch it from time to time."""
    descriptor = _acquire(path, command)
    ended = threading.Event()
    threading.Thread(target=_touch, args=(path, ended), daemon=True).start()
    try:
        yield
    finally:
        # Release the lock last: no other process replaces the file while the lock is held.
        ended.set()
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
        _held_here.discard(descriptor)
        os.close(descriptor)


def _file_stats(path: str) -> dict[str, tuple[int, int]]:
    """Return size and modification time in ns of everything in a directory except the lock file."""
    if not os.path.isdir(path):
        return {}
    with os.scandir(path) as entries:
        stats = {entry.name: entry.stat(follow_symlinks=False) for entry in entries if entry.name != LOCK}
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}


def _acquire(path: str, command: str) -> int:
    """Open the lock file, make this process its owner, and return the file's descriptor."""
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise InputError(
                f"{path}: cannot be written: {explain_write_error(error, os.path.dirname(path))}"
            ) from None
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, descriptor)
            if _become_owner(descriptor, path, command):
                _held_here.add(descriptor)
                stack.pop_all()
                return descriptor


def _become_owner(descriptor: int, path: str, command: str) -> bool:
    """Write this process into the open lock file as its owner.

    Returns:
        False if the path no longer leads to this file, for example because its owner has ended.
    """
    is_free = _try_lock(descriptor, os.path.dirname(path))
    # An owner removes the file before it releases the lock, so the open file may have no name now.
    if not os.path.exists(path) or not os.path.samestat(os.fstat(descriptor), os.stat(path)):
        return False
    owner = _parse_owner(path, os.pread(descriptor, _MAX_BYTES, 0))
    _raise_if_held(path, is_free, owner)
    if owner:
        LOG.info("%s: the lock of a run that has ended without removing it (%s) is taken over", path, owner)
    process = this_process(command, os.fstat(descriptor).st_dev if is_free else None)
    try:
        # Write in place: a new file under this name would not be locked.
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(process._asdict()).encode(), 0)
        os.fsync(descriptor)
    except OSError as error:
        os.remove(path)
        raise InputError(f"{path}: cannot be written: {explain_write_error(error, os.path.dirname(path))}") from None
    return True


def _touch(path: str, ended: threading.Event) -> None:
    while not ended.wait(_TOUCH_INTERVAL_SECONDS):
        with contextlib.suppress(OSError):  # a network filesystem may be unreachable for a while
            os.utime(path)


def _close_inherited() -> None:
    """Close the lock files in a forked process, which must not keep its parent's lock."""
    for descriptor in _held_here:
        os.close(descriptor)
    _held_here.clear()


# flock locks the open file, which a child process shares: the child would hold the lock until it
# ends. The package filelock would only replace the two lines with flock: it does not name an owner,
# and does not see runs of other hosts.
os.register_at_fork(after_in_child=_close_inherited)
