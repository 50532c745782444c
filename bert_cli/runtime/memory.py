"""Memory of the machine and of this process, to refuse immediately what cannot fit.

The standard library suffices: psutil reads the same files in /proc and rusage, but is another
compiled package.
"""

import contextlib
import os
import resource
import sys

from bert_cli.base.errors import refuse_if

_CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def machine_memory() -> int:
    """Return how many bytes of memory this process can have at most; sys.maxsize if unknown.

    The limit is the machine's memory, a container's limit, or `ulimit -v`.
    """
    limits = [limit for limit, _ in (resource.getrlimit(resource.RLIMIT_AS),) if limit != resource.RLIM_INFINITY]
    # os.sysconf raises ValueError for names that the system does not know.
    if {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(os.sysconf_names):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for path in _CONTAINER_LIMITS:
        # Without a limit, the text is "max".
        with contextlib.suppress(OSError, ValueError), open(path, encoding="ascii") as file:
            limits.append(int(file.read()))
    return min(limits, default=sys.maxsize)


def free_memory() -> int:
    """Return how many bytes of memory can still be allocated; machine_memory() if unknown."""
    limit = machine_memory()
    with contextlib.suppress(FileNotFoundError), open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return min(limit, int(line.split()[1]) * 1024)
    return limit


def check_address_space(needed: int, purpose: str) -> None:
    """Raise InputError if `ulimit -v` is too low.

    Args:
        needed: bytes of address space that are needed.
        purpose: an infinitive for the message, such as "start TensorFlow".
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    refuse_if(
        limit != resource.RLIM_INFINITY and limit < needed,
        f"not enough memory to {purpose}: ulimit -v allows {limit // 1024:,} kB, at least {needed // 1024:,} kB are "
        "needed; raise the limit (ulimit -v unlimited), or run this as a job of the cluster",
    )


def current_memory() -> int:
    """Return the bytes of memory that this process uses; 0 if the system does not report it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            # The second field is resident memory in pages, without memory that is only reserved.
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except FileNotFoundError:
        return 0


def peak_memory() -> int:
    """Return the largest number of bytes that this process has used."""
    # Linux reports kilobytes, macOS bytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
