"""How much memory this machine has, for refusing at once what cannot fit."""

import os
import sys


def machine_memory() -> int:
    """Bytes of this machine's memory; sys.maxsize where the system does not tell."""
    if not {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(os.sysconf_names):
        return sys.maxsize
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
