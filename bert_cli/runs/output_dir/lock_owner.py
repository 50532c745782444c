"""The process that holds the lock of an output_dir, and how another process sees that it has ended."""

import datetime
import os
import socket
import time
from typing import NamedTuple


class Owner(NamedTuple):
    """The process that holds a lock.

    Attributes:
        host: name of its machine or container.
        process: its number.
        started: the boot of its kernel and the ticks from there to its start; None without /proc.
        command: the command that runs.
        since: the time when it took the lock, for people.
        pid_namespace: the namespace of its number, which containers have separately; None if
            unknown.
        device: number of the filesystem on which its kernel holds the lock; None if the filesystem
            cannot lock.
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
        """Return whether the owner still runs; None if that cannot be seen from here.

        Args:
            lock_file: status of the owner's lock file.
            is_lock_free: whether this process can get the system's lock on the file.
        """
        boot, boot_here = _boot_of(self.started), _boot_of(_start_of(os.getpid()))
        is_this_host = self.host == socket.gethostname()
        if boot and boot_here and boot != boot_here:
            # The host was restarted, or another machine has its name: that one would have touched
            # the file since then.
            return False if is_this_host and lock_file.st_mtime < _boot_time() else None
        # One kernel takes its locks back from a process that ends, in whatever container.
        if boot and boot == boot_here and is_lock_free and self.device == lock_file.st_dev:
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
    """Return this process as an owner; command, device: see Owner."""
    now = datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S %z")
    process = os.getpid()
    return Owner(socket.gethostname(), process, _start_of(process), command, now, _pid_namespace(), device)


def _start_of(process: int) -> str | None:
    """Return when a visible process began, as `Owner.started`; None if there is none, or no /proc."""
    try:
        with open(f"/proc/{process}/stat", "rb") as stat, open("/proc/sys/kernel/random/boot_id", "rb") as boot:
            # The name of the program, in parentheses, may hold spaces; the time is the 20th field
            # after it.
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
        os.kill(process, 0)  # signal 0 reaches nobody: the system only looks the process up
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        pass
    return True
