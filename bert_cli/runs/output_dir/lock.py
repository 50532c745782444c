"""One run at a time in an output_dir: a lock file names the owner, and a lock of the system guards it.

The file alone would outlive a run that was killed. The system's lock alone holds on one machine only
on many network filesystems. So the lock of a process that has ended is taken over if this can be
seen. Otherwise the owner is believed as long as its file is touched, as a running process does.
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

_TOUCHED_EVERY, _BELIEVED = 15, 120  # seconds: a network filesystem may show a time of change a minute late
_held_here: set[int] = set()  # descriptors of the lock files of this process
_MOST_BYTES = 1 << 16  # of a lock file that are read
_LEAST_NO_PROCESS = 1 << 31  # numbers of processes are below
_HELD = (errno.EWOULDBLOCK, errno.EACCES)


def check_free(folder: str, distribution_strategy: str) -> tuple:
    """Raise BusyError if another run holds the folder; return what `held` compares. Changes nothing."""
    path = os.path.join(folder, LOCK)
    is_read = is_writer(distribution_strategy) and not files.is_remote(folder)
    if is_read and os.path.isfile(path) and os.access(path, os.R_OK):
        with open(path, "rb") as file:
            is_free = _try_lock(file.fileno(), folder)
            if is_free:
                fcntl.flock(file.fileno(), fcntl.LOCK_UN)
            _judge(path, is_free, _owner(path, file.read(_MOST_BYTES)))
    return _last_run(folder)


def _last_run(folder: str) -> tuple:
    """What the last run of a folder left, in a form to compare."""
    if files.is_remote(folder):
        return ()
    paths = (os.path.join(folder, name) for name in (MANIFEST, STATE))
    return tuple(os.stat(path).st_mtime_ns if os.path.exists(path) else None for path in paths)


def _try_lock(descriptor: int, folder: str) -> bool | None:
    """Take the system's lock on the lock file of a folder.

    Returns:
        True if it was free, False if another process has it, None if the filesystem cannot lock.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD:
            return False
        # NFS without a lock daemon, or a FUSE filesystem.
        warn_once(
            f"warning: {folder} is on a filesystem that cannot lock ({error.strerror}): its file {LOCK} alone "
            "keeps other runs out"
        )
        return None
    return True


def _owner(path: str, data: bytes) -> Owner | None:
    """Return the owner that a lock file names; None if it names none, for example after a power cut."""
    try:
        values: Any = parse_json(data, path)
        owner = Owner(**values)
        return owner if isinstance(owner.process, int) and 0 < owner.process < _LEAST_NO_PROCESS else None
    except (InputError, TypeError):
        return None


def _judge(path: str, is_lock_free: bool | None, owner: Owner | None) -> None:
    """Raise BusyError if the lock is another run's; is_lock_free: see _try_lock."""
    folder = os.path.dirname(path)
    stat = os.stat(path)
    is_running = owner and owner.is_running(stat, bool(is_lock_free))
    if is_lock_free is False or is_running:
        raise BusyError(
            f"{folder}: another run is at work there ({owner or 'which has just begun'}); wait for "
            "its end, or use another --output_dir"
        )
    age = time.time() - stat.st_mtime
    if owner and is_running is None and age < _BELIEVED:
        raise BusyError(
            f"{folder}: another run is at work there ({owner}); it cannot be seen from here, but "
            f"{path} was touched {max(0, age):.0f} s ago: give the same command again after its end, "
            f"or, if it was killed, in {_BELIEVED - max(0, age):.0f} s"
        )


@contextlib.contextmanager
def held(folder: str, distribution_strategy: str, command: str, seen: tuple) -> Iterator[None]:
    """Make the folder if it is missing, and keep other runs out of it.

    Of several processes that train together, the writing process has the lock.

    Args:
        seen: the result of `check_free` when the run was planned.

    Raises:
        BusyError: another run holds the folder, or has written into it since then.
    """
    if not is_writer(distribution_strategy):
        yield
    elif files.is_remote(folder):
        LOG.warning("warning: %s cannot be locked: no other run may write there at the same time", folder)
        yield
    else:
        with _traceless(folder), _locked(os.path.join(folder, LOCK), command):
            if _last_run(folder) != seen:
                raise BusyError(f"{folder}: another run wrote into it just now; give the same command again")
            yield


@contextlib.contextmanager
def _traceless(folder: str) -> Iterator[None]:
    """Make the folder where it is missing; at the end, what was made and holds nothing, as after a
    refusal, is gone again.
    """
    before = _contents(folder)
    stat = os.stat(folder) if os.path.isdir(folder) else None
    missing = []
    path = os.path.abspath(folder)
    while not os.path.lexists(path):
        missing.append(path)  # from the inside out, as they are removed
        path = os.path.dirname(path)
    files.make_directory(folder)
    try:
        yield
    finally:
        for path in missing:
            with contextlib.suppress(OSError):  # it holds something now
                os.rmdir(path)
        if stat and _contents(folder) == before:
            os.utime(folder, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@contextlib.contextmanager
def _locked(path: str, command: str) -> Iterator[None]:
    """Within it the lock file is this process's, and touched from time to time."""
    descriptor = _take(path, command)
    ended = threading.Event()
    threading.Thread(target=_touch, args=(path, ended), daemon=True).start()
    try:
        yield
    finally:
        # First the thread, then the file, then the lock: while the lock is held nobody else may
        # replace the file.
        ended.set()
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
        _held_here.discard(descriptor)
        os.close(descriptor)


def _contents(folder: str) -> dict[str, tuple[int, int]]:
    """Size and time of change of all that lies in a folder, by name; the lock, which is made and
    removed, is left out.
    """
    if not os.path.isdir(folder):
        return {}
    with os.scandir(folder) as entries:
        found = {entry.name: entry.stat(follow_symlinks=False) for entry in entries if entry.name != LOCK}
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in found.items()}


def _take(path: str, command: str) -> int:
    """The descriptor of the lock file, which is this process's from now on."""
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise InputError(
                f"{path}: cannot be written: {explain_write_error(error, os.path.dirname(path))}"
            ) from None
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, descriptor)
            if _lock(descriptor, path, command):
                _held_here.add(descriptor)
                stack.pop_all()
                return descriptor


def _lock(descriptor: int, path: str, command: str) -> bool:
    """Make this process the owner of the open lock file.

    Returns:
        False if the name went to another file meanwhile, for example when its owner ended.
    """
    is_free = _try_lock(descriptor, os.path.dirname(path))
    # The owner removes the file before it lets go of the lock: what was opened here may have no
    # name any more.
    if not os.path.exists(path) or not os.path.samestat(os.fstat(descriptor), os.stat(path)):
        return False
    owner = _owner(path, os.pread(descriptor, _MOST_BYTES, 0))
    _judge(path, is_free, owner)
    if owner:
        LOG.info("%s: the lock of a run that has ended without removing it (%s) is taken over", path, owner)
    now = this_process(command, os.fstat(descriptor).st_dev if is_free else None)
    try:
        # Written in place: another file under this name would not be the locked file.
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(now._asdict()).encode(), 0)
        os.fsync(descriptor)
    except OSError as error:
        os.remove(path)
        raise InputError(f"{path}: cannot be written: {explain_write_error(error, os.path.dirname(path))}") from None
    return True


def _touch(path: str, ended: threading.Event) -> None:
    while not ended.wait(_TOUCHED_EVERY):
        with contextlib.suppress(OSError):  # the folder may be out of reach for a while
            os.utime(path)


def _forget() -> None:
    """In a process that was forked: it must not keep the lock when its parent is gone."""
    for descriptor in _held_here:
        os.close(descriptor)
    _held_here.clear()


# flock belongs to the open file, which a child shares: it would hold the lock as long as it lives.
# The package filelock would replace the two lines of flock alone: it names no owner, and sees no
# run of another host.
os.register_at_fork(after_in_child=_forget)
