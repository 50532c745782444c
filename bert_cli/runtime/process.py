"""State of this process, checks and locks for forked children, and owners of locks."""

import datetime
import os
import socket
import sys
import threading
import time
from typing import NamedTuple

from bert_cli.base.errors import InputError


class _Process:
    # True in a process that one of our commands runs: we may choose its settings. False in a user's
    # program that calls the package.
    is_command = False
    # True in a forked child if TensorFlow had started in its parent. A child does not inherit
    # TensorFlow's threads, and would wait for them forever.
    has_lost_tensorflow = False
    # True if the process may end without freeing its objects; see early_interrupt.
    ends_quickly = False
    has_succeeded = False

    def __init__(self) -> None:
        self._kept: list[object] = []

    def keep(self, value: object) -> None:
        """Keep a large object until the end of the process, if it ends quickly."""
        if self.ends_quickly:
            self._kept.append(value)


PROCESS = _Process()


def refuse_lost_tensorflow() -> None:
    """Raise InputError in a forked child if TensorFlow had started in its parent."""
    if PROCESS.has_lost_tensorflow:
        raise InputError(
            "TensorFlow was started before this process was forked, and cannot compute in the child: load the model in "
            "each worker process (load_once) and not before the fork, or start workers with the method 'spawn'"
        )


class ForkedLock:
    """Reentrant lock for `with` that is free in a forked child, even if a parent's thread holds it."""

    def __init__(self) -> None:
        self._renew()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()


def _note_fork() -> None:
    tensorflow = sys.modules.get("tensorflow")
    # A fork during TensorFlow's import leaves a module without its submodules.
    threads = getattr(getattr(tensorflow, "config", None), "threading", None)
    if threads is None or PROCESS.has_lost_tensorflow:
        return
    count = threads.get_inter_op_parallelism_threads()
    try:
        # TensorFlow cannot be asked whether it has started, but then it refuses another number.
        threads.set_inter_op_parallelism_threads(count + 1)
        threads.set_inter_op_parallelism_threads(count)
    except RuntimeError:
        PROCESS.has_lost_tensorflow = True


os.register_at_fork(after_in_child=_note_fork)


class Owner(NamedTuple):
    """The process that holds a lock, described so that other processes can find out if it runs.

    Attributes:
        host: machine or container name.
        process: process number.
        started: the kernel's boot id and the clock ticks from boot to the start of this process,
            separated by "-"; None without /proc.
        command: running command.
        since: time when the process took the lock, for messages.
        pid_namespace: namespace for the process number, since each container counts its own
            processes; None if unknown.
        device: device number of the lock file's filesystem; None if it cannot lock.
    """

    host: str
    process: int
    started: str | None
    command: str
    since: str
    pid_namespace: str | None = None
    device: int | None = None

    def __str__(self) -> str:
        return f"{self.command}, process {self.process} on {self.host}, since {self.since}"

    def is_running(self, lock_file: os.stat_result, is_lock_free: bool) -> bool | None:
        """Return whether the owner still runs; None if this process cannot find out.

        Args:
            lock_file: stat result for the owner's lock file.
            is_lock_free: whether this process can get the system's lock on the file.
        """
        boot, current_boot = _boot_of(self.started), _boot_of(_start_of(os.getpid()))
        is_this_host = self.host == socket.gethostname()
        if boot and current_boot and boot != current_boot:
            # Either this host has restarted, or another machine has the same name. A run on that
            # machine would have touched the file after this machine's boot.
            return False if is_this_host and lock_file.st_mtime < _boot_time() else None
        # When a process ends, its kernel releases its locks, in any container.
        if boot and boot == current_boot and is_lock_free and self.device == lock_file.st_dev:
            return False
        namespace = _pid_namespace()
        if self.pid_namespace and namespace:
            shares_processes = self.pid_namespace == namespace and (boot is not None or is_this_host)
        else:
            shares_processes = is_this_host
        if not shares_processes:
            return None
        if self.process == os.getpid():
            return False
        start = _start_of(self.process)
        # /proc may hide the processes of other users.
        return start == self.started if start and self.started else _exists(self.process)


def this_process(command: str, device: int | None) -> Owner:
    """Return this process as an owner.

    Args:
        command, device: see Owner.
    """
    now = datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S %z")
    process = os.getpid()
    return Owner(socket.gethostname(), process, _start_of(process), command, now, _pid_namespace(), device)


def _start_of(process: int) -> str | None:
    """Return `Owner.started` for a process number; None if /proc does not show the process."""
    try:
        with open(f"/proc/{process}/stat", "rb") as stat, open("/proc/sys/kernel/random/boot_id", "rb") as boot:
            # Split after the program's name, which is in parentheses and may contain spaces. The
            # start time is the 20th field after it.
            return f"{boot.read(8).decode()}-{stat.read().rpartition(b')')[2].split()[19].decode()}"
    except (OSError, IndexError):
        return None


def _boot_of(started: str | None) -> str | None:
    return started.rpartition("-")[0] if started else None


def _boot_time() -> float:
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


def _pid_namespace() -> str | None:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return None


def _exists(process: int) -> bool:
    try:
        os.kill(process, 0)  # signal 0 is not delivered: the system only looks the process up
    except ProcessLookupError:
        return False
    except PermissionError:  # the process belongs to another user
        pass
    return True
