"""How much memory this machine has, for refusing at once what cannot fit, and how much this process
takes.

The standard library suffices: psutil would read the same files of /proc and rusage, and is one more
compiled package.
"""

import contextlib
import os
import resource
import sys

from bert_cli.base.errors import refuse_if

_CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def machine_memory() -> int:
    """Return the bytes of memory that this process can have at the most; sys.maxsize if unknown.

    That is the machine's memory, or the limit of a container or of `ulimit -v`.
    """
    limits = [limit for limit, _ in (resource.getrlimit(resource.RLIMIT_AS),) if limit != resource.RLIM_INFINITY]
    # os.sysconf raises ValueError for a name that the system does not know.
    if {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(os.sysconf_names):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for path in _CONTAINER_LIMITS:
        # The text is "max" without a limit.
        with contextlib.suppress(OSError, ValueError), open(path, encoding="ascii") as file:
            limits.append(int(file.read()))
    return min(limits, default=sys.maxsize)


def free_memory() -> int:
    """Return the bytes of memory that a new allocation can have; machine_memory() if unknown."""
    limit = machine_memory()
    with contextlib.suppress(FileNotFoundError), open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return min(limit, int(line.split()[1]) * 1024)
    return limit


def check_address_space(needed: int, purpose: str) -> None:
    """Raise InputError if the limit of `ulimit -v` is below the bytes of address space needed."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    refuse_if(
        limit != resource.RLIM_INFINITY and limit < needed,
        f"not enough memory to {purpose}: ulimit -v allows {limit // 1024:,} kB, at least {needed // 1024:,} kB are "
        "needed; raise the limit (ulimit -v unlimited), or run this as a job of the cluster",
    )


def memory_now() -> int:
    """Bytes that this process takes; 0 where the system does not report it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            # The second field, in pages: resident memory, without memory that was only reserved.
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except FileNotFoundError:
        return 0


def peak_memory() -> int:
    """The most bytes of memory that this process has held."""
    # Kilobytes on Linux, bytes on macOS.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
