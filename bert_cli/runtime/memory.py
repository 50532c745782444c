"""How much memory this machine has, for refusing at once what cannot fit, and how much this process
takes.

The standard library suffices: psutil would read the same files of /proc and rusage, and is one more
compiled package.
"""

import contextlib
import os
import resource
import sys


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
