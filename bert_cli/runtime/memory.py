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


def machine_memory() -> int:
    """Bytes of this machine's memory; sys.maxsize where the system does not report it."""
    # os.sysconf raises ValueError for a name that the system does not know.
    if not {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(os.sysconf_names):
        return sys.maxsize
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def free_memory() -> int:
    """Bytes of memory that a new allocation can have; machine_memory() where the system does not
    report it.
    """
    with contextlib.suppress(FileNotFoundError), open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return machine_memory()


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
