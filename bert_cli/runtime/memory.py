"""How much memory this machine has, for refusing at once what cannot fit, and how much this process had."""

import os
import sys


def machine_memory() -> int:
    """Bytes of this machine's memory; sys.maxsize where the system does not tell."""
    if not {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(os.sysconf_names):
        return sys.maxsize
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def peak_memory() -> int | None:
    """The most bytes of memory that this process has held; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
