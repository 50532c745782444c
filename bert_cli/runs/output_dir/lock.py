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
from bert_cli.runs.output_dir.lock_owner import Owner, this_process
from bert_cli.runtime.cluster import is_writer

# Network filesystems may show a modification time a minute late.
_TOUCH_INTERVAL_SECONDS, _MAX_AGE_SECONDS = 15, 120
_held_here: set[int] = set()  # descriptors of this process's lock files
_MAX_BYTES = 1 << 16  # bytes read from a lock file
_PROCESS_LIMIT = 1 << 31  # process numbers are smaller
_LOCKED_ERRORS = (errno.EWOULDBLOCK, errno.EACCES)


def check_free(folder: str, distribution_strategy: str) -> tuple:
    """Check that no other run uses the directory, without changing anything.

    Args:
        folder: output directory, which may not exist yet.
        distribution_strategy: flag value. Only the writing process of several checks the lock.

    Returns:
        Times of the last changes, which `hold` compares.

    Raises:
        BusyError: if another run holds the lock.
    """
    path = os.path.join(folder, LOCK)
    is_read = is_writer(distribution_strategy) and not files.is_remote(folder)
    if is_read and os.path.isfile(path) and os.access(path, os.R_OK):
        with open(path, "rb") as file:
            is_free = _try_lock(file.fileno(), folder)
            if is_free:
                fcntl.flock(file.fileno(), fcntl.LOCK_UN)
            _raise_if_held(path, is_free, _parse_owner(path, file.read(_MAX_BYTES)))
    return _last_run_times(folder)


def _last_run_times(folder: str) -> tuple:
    """Return when a run last changed the manifest and the state file, in ns; None if missing."""
    if files.is_remote(folder):
        return ()
    paths = (os.path.join(folder, name) for name in (MANIFEST, STATE))
    return tuple(os.stat(path).st_mtime_ns if os.path.exists(path) else None for path in paths)


def _try_lock(descriptor: int, folder: str) -> bool | None:
    """Try to take the system lock on an open lock file.

    Args:
        descriptor: the file's descriptor.
        folder: the file's directory, used in the warning.

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
            f"warning: {folder} is on a filesystem that cannot lock ({error.strerror}): its file {LOCK} alone "
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
def hold(folder: str, distribution_strategy: str, command: str, last_run: tuple) -> Iterator[None]:
    """Make the directory if it is missing, and keep other runs out of it.

    If several processes train together, the writing process holds the lock.

    Args:
        folder: output directory.
        distribution_strategy: flag value.
        command: command name, used in messages of other runs.
        last_run: result of `check_free` when the run was planned.

    Raises:
        BusyError: if another run holds the lock, or has written into the directory since then.
    """
    if not is_writer(distribution_strategy):
        yield
    elif files.is_remote(folder):
        LOG.warning("warning: %s cannot be locked: no other run may write there at the same time", folder)
        yield
    else:
        with _make_folder(folder), _hold_lock_file(os.path.join(folder, LOCK), command):
            if _last_run_times(folder) != last_run:
                raise BusyError(f"{folder}: another run wrote into it just now; give the same command again")
            yield


@contextlib.contextmanager
def _make_folder(folder: str) -> Iterator[None]:
    """Make the directory; at the end, remove it again if it is empty, as after a refusal.

    A directory that did not change gets its old times back.
    """
    before = _file_stats(folder)
    stat = os.stat(folder) if os.path.isdir(folder) else None
    missing = []
    path = os.path.abspath(folder)
    while not os.path.lexists(path):
        missing.append(path)  # innermost first, which is the order of removal
        path = os.path.dirname(path)
    files.make_directory(folder)
    try:
        yield
    finally:
        for path in missing:
            with contextlib.suppress(OSError):  # it is no longer empty
                os.rmdir(path)
        if stat and _file_stats(folder) == before:
            os.utime(folder, ns=(stat.st_atime_ns, stat.st_mtime_ns))


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


def _file_stats(folder: str) -> dict[str, tuple[int, int]]:
    """Return size and modification time in ns of everything in a directory except the lock file."""
    if not os.path.isdir(folder):
        return {}
    with os.scandir(folder) as entries:
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
