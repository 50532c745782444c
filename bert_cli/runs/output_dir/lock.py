"""One run at a time in an output_dir: a file there says whose it is, and a lock of the system that
it is so still.

The file alone would outlive a run that was killed; the system's lock alone holds on one machine
only on many network filesystems. So a lock whose process is gone is taken over on its own machine,
and on another one it is believed as long as its file is touched, as a running process does.
"""

import contextlib
import datetime
import errno
import fcntl
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if, why_not_written
from bert_cli.base.json_files import parse_json
from bert_cli.base.log import LOG
from bert_cli.base.names import LOCK, MANIFEST, STATE
from bert_cli.runtime.cluster import writes

_TOUCHED_EVERY, _BELIEVED = 15, 120  # seconds: a network filesystem may show a time of change a minute late
_held_here: set[int] = set()  # descriptors of the lock files of this process
_MOST_BYTES = 1 << 16  # of a lock file that are read
_LEAST_NO_PROCESS = 1 << 31  # numbers of processes are below
_HELD = (errno.EWOULDBLOCK, errno.EACCES)


class Owner(NamedTuple):
    """The process that has the lock. started: when, in a form to compare; since: the same moment as
    people write it.
    """

    host: str
    process: int
    started: str | None
    command: str
    since: str

    def __str__(self) -> str:
        return f"{self.command}, process {self.process} on {self.host}, since {self.since}"

    @property
    def is_here(self) -> bool:
        return self.host == socket.gethostname()

    @property
    def is_running(self) -> bool:
        """Of a process of this machine."""
        return _start_of(self.process) == self.started if self.started else _exists(self.process)


def _start_of(process: int) -> str | None:
    """When a process of this machine began, in ticks of this boot; None where there is none, or no
    /proc to read.
    """
    try:
        with open(f"/proc/{process}/stat", "rb") as stat, open("/proc/sys/kernel/random/boot_id", "rb") as boot:
            # The name of the program, in parentheses, may hold spaces; the time is the 20th field
            # after it.
            return f"{boot.read(8).decode()}-{stat.read().rpartition(b')')[2].split()[19].decode()}"
    except (OSError, IndexError):
        return None


def _exists(process: int) -> bool:
    try:
        os.kill(process, 0)  # signal 0 reaches nobody: the system only looks the process up
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        pass
    return True


def check_free(folder: str, distribution_strategy: str) -> tuple:
    """InputError where another run holds the folder. Returns what `held` compares; changes nothing."""
    path = os.path.join(folder, LOCK)
    is_read = writes(distribution_strategy) and not files.is_remote(folder)
    if is_read and os.path.isfile(path) and os.access(path, os.R_OK):
        with open(path, "rb") as file:
            _judge(path, _is_locked(file.fileno()), _owner(path, file.read(_MOST_BYTES)))
    return _last_run(folder)


def _last_run(folder: str) -> tuple:
    """What the last run of a folder left, in a form to compare."""
    if files.is_remote(folder):
        return ()
    paths = (os.path.join(folder, name) for name in (MANIFEST, STATE))
    return tuple(os.stat(path).st_mtime_ns if os.path.exists(path) else None for path in paths)


def _is_locked(descriptor: int) -> bool:
    """Whether another process has the system's lock; one that is free is free after, too."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in _HELD
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


def _owner(path: str, data: bytes) -> Owner | None:
    """Who the file says has the lock; None where it does not say, as after a power cut."""
    try:
        values: Any = parse_json(data, path)
        owner = Owner(**values)
        return owner if isinstance(owner.process, int) and 0 < owner.process < _LEAST_NO_PROCESS else None
    except (InputError, TypeError):
        return None


def _judge(path: str, is_locked: bool, owner: Owner | None) -> None:
    """InputError where the lock is another run's."""
    folder = os.path.dirname(path)
    if is_locked or (owner and owner.is_here and owner.is_running and owner.process != os.getpid()):
        raise InputError(
            f"{folder}: another run is at work there ({owner or 'which has just begun'}); wait for "
            "its end, or use another --output_dir"
        )
    if owner is None or owner.is_here:
        return
    age = time.time() - os.stat(path).st_mtime
    if age < _BELIEVED:
        raise InputError(
            f"{folder}: another run is at work there ({owner}); it cannot be seen from here, but "
            f"{path} was touched {max(0, age):.0f} s ago: wait for its end, or, if it was killed, "
            f"{_BELIEVED} s longer than that"
        )


@contextlib.contextmanager
def held(folder: str, distribution_strategy: str, command: str, seen: tuple) -> Iterator[None]:
    """Make the folder where it is missing, and keep other runs out of it.

    seen: what `check_free` returned when the run was planned. InputError where another run holds
    the folder, or has written into it since then. Of several processes that train together the
    writing process has the lock.
    """
    if not writes(distribution_strategy):
        yield
    elif files.is_remote(folder):
        LOG.warning("warning: %s cannot be locked: no other run may write there at the same time", folder)
        yield
    else:
        with _traceless(folder), _locked(os.path.join(folder, LOCK), command):
            was_used = _last_run(folder) != seen
            refuse_if(was_used, f"{folder}: another run wrote into it just now; give the same command again")
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
            raise InputError(f"{path}: cannot be written: {why_not_written(error, os.path.dirname(path))}") from None
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, descriptor)
            if _lock(descriptor, path):
                _write(descriptor, command)
                _held_here.add(descriptor)
                stack.pop_all()
                return descriptor


def _lock(descriptor: int, path: str) -> bool:
    """Lock the open file; False where its name went to another file meanwhile, as when its owner
    ended.
    """
    is_locked = False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        is_locked = error.errno in _HELD
        if not is_locked:  # NFS without a lock daemon, or a FUSE filesystem
            said = "warning: %s is on a filesystem that cannot lock (%s): its file %s alone keeps other runs out"
            LOG.warning(said, os.path.dirname(path), error.strerror, LOCK)
    # The owner removes the file before it lets go of the lock: what was opened here may have no
    # name any more.
    if not os.path.exists(path) or not os.path.samestat(os.fstat(descriptor), os.stat(path)):
        return False
    owner = _owner(path, os.pread(descriptor, _MOST_BYTES, 0))
    _judge(path, is_locked, owner)
    if owner:
        LOG.info("%s: the lock of a run that has ended without removing it (%s) is taken over", path, owner)
    return True


def _write(descriptor: int, command: str) -> None:
    """Make this process the owner that an open lock file names."""
    now = datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S %z")
    owner = Owner(socket.gethostname(), os.getpid(), _start_of(os.getpid()), command, now)
    # Written in place: another file under this name would not be the locked file.
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(owner._asdict()).encode(), 0)
    os.fsync(descriptor)


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
