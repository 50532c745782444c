"""Processors, GPUs and memory of this machine, found without importing TensorFlow.

The standard library suffices: psutil reads the same files in /proc and rusage, but is another
compiled package.
"""

import contextlib
import ctypes
import glob
import math
import mmap
import os
import resource
import sys
from collections.abc import Iterable

from bert_cli.base.errors import refuse_if

_BFLOAT16_UNITS = frozenset({"amx_bf16", "avx512_bf16"})  # instruction sets with fast bfloat16 products
# Files of NVIDIA's driver on Linux, its library in Windows Subsystem for Linux, and AMD's driver.
_DEVICE_FILES = ("/dev/nvidia[0-9]*", "/usr/lib/wsl/lib/libcuda.so.1", "/dev/kfd")
_HIDDEN = ("", "-1")  # values that hide all GPUs
# Memory after the import of TensorFlow 2.21, without file pages, which the kernel can drop
# (measured: 292 MB).
TENSORFLOW_BYTES = 290_000_000
_CGROUPS = "/sys/fs/cgroup"
_OWN_CGROUPS = "/proc/self/cgroup"
# Files in cgroup v2 and v1: limit, use, and the key in memory.stat for file caches, which the
# kernel drops if the memory is needed.
_V2 = ("memory.max", "memory.current", "inactive_file")
_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def processor_flags() -> frozenset[str]:
    """Return instruction sets as Linux lists them, such as avx512_bf16; empty on other systems."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="ignore") as file:
            return frozenset(next((line for line in file if line.startswith(("flags", "Features"))), "").split())
    except FileNotFoundError:
        return frozenset()


def has_fast_bfloat16() -> bool:
    """Return whether this processor has instructions for products in bfloat16."""
    return bool(_BFLOAT16_UNITS & processor_flags())


def _num_allowed() -> int:
    """Return the number of processors in this process's affinity."""
    # macOS has no sched_getaffinity.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_quota() -> float | None:
    """Return the number of processors that a cgroup's CPU quota allows, or None without a quota."""
    quotas = [_read_quota(folder, is_v2) for folder, is_v2 in _find_cgroups("cpu")]
    return min((quota for quota in quotas if quota), default=None)


def _read_quota(folder: str, is_v2: bool) -> float | None:
    """Return a cgroup's quota divided by its period; None without a quota."""
    # Without a quota, the text is "max" in cgroup v2 and -1 in cgroup v1.
    names = ("cpu.max",) if is_v2 else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    with contextlib.suppress(OSError, ValueError):
        texts = []
        for name in names:
            with open(f"{folder}/{name}", encoding="ascii") as file:
                texts += file.read().split()
        quota, period = map(int, texts)
        return quota / period if quota > 0 and period > 0 else None
    return None


def num_processors() -> int:
    """Return the number of processors that this process may use: its affinity, or less by a quota."""
    quota = cpu_quota()
    return _num_allowed() if quota is None else min(_num_allowed(), math.ceil(quota))


def pool_size(num_threads: int) -> int:
    """Return the number of threads for a library's pool, or 0 if its default is right.

    Libraries see the affinity, but no quota.

    Args:
        num_threads: value of --num_threads; 0 if the machine decides.
    """
    count = num_processors()
    return num_threads or (count if count < _num_allowed() else 0)


def describe_processors() -> str:
    """Return the number of processors for people, with the reason if it is not all of them."""
    count, total = num_processors(), os.cpu_count() or 1
    quota = cpu_quota()
    if count < _num_allowed():
        return f"{count} of {total} cores (a cgroup's CPU quota of {quota:g})"
    cores = f"{total} core{'s' if total > 1 else ''}"
    return cores if count == total else f"{count} of {cores} (CPU affinity)"


def describe_threads(num_threads: int) -> str:
    """Return the number of threads for people.

    Args:
        num_threads: value of --num_threads; 0 if the machine decides.
    """
    return f"{num_threads} (--num_threads)" if num_threads else f"one per core, {describe_processors()}"


def has_gpu() -> bool:
    """Return whether a driver shows a GPU to this process."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in _HIDDEN:
        return False
    return any(glob.glob(pattern) for pattern in _DEVICE_FILES)


def machine_memory() -> int:
    """Return how many bytes of memory this process can have at most; sys.maxsize if unknown.

    The limit is the machine's memory, a limit of cgroup v1 or v2 (containers, systemd, Slurm), or
    `ulimit -v`.
    """
    limits = [limit for limit, _ in (resource.getrlimit(resource.RLIMIT_AS),) if limit != resource.RLIM_INFINITY]
    # os.sysconf raises ValueError for names that the system does not know.
    if {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(os.sysconf_names):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    limits += [limit for limit, _ in _group_limits()]
    return min(limits, default=sys.maxsize)


def free_memory() -> int:
    """Return how many bytes of memory can still be allocated; machine_memory() if unknown."""
    limits = [machine_memory(), *(free for _, free in _group_limits())]
    with contextlib.suppress(FileNotFoundError), open("/proc/meminfo", encoding="ascii") as file:
        limits += [int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:")]
    return max(0, min(limits))


def _find_cgroups(controller: str) -> set[tuple[str, bool]]:
    """Return the directories of all cgroups above this process, each with whether it has version 2.

    Args:
        controller: name of a resource, such as memory or cpu.
    """
    groups = {(_CGROUPS, True), (f"{_CGROUPS}/{controller}", False)}
    with contextlib.suppress(OSError), open(_OWN_CGROUPS, encoding="utf-8") as file:
        for line in file:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            if controllers and controller not in controllers.split(","):
                continue
            # All groups above this one have limits too. In a container, the path may be relative
            # to the host's groups, which do not exist here.
            names = path.strip("/").split("/")
            for depth in range(1, len(names) + 1):
                group = "/".join(names[:depth])
                groups.add(
                    (f"{_CGROUPS}/{controller}/{group}", False) if controllers else (f"{_CGROUPS}/{group}", True)
                )
    return groups


def _group_limits() -> list[tuple[int, int]]:
    """Return limit and free memory, in bytes, for each cgroup of this process that has a limit."""
    groups = [(folder, _V2 if is_v2 else _V1) for folder, is_v2 in _find_cgroups("memory")]
    limits = [_group_limit(folder, file_names) for folder, file_names in groups]
    return [limit for limit in limits if limit]


def _group_limit(folder: str, file_names: tuple[str, str, str]) -> tuple[int, int] | None:
    """Return limit and free memory of a cgroup, or None without a limit.

    Args:
        folder: the cgroup's directory.
        file_names: _V1 or _V2.
    """
    limit_name, use_name, cache_key = file_names
    try:
        # Without a limit, the text is "max", or a very large number in cgroup v1.
        with open(f"{folder}/{limit_name}", encoding="ascii") as file:
            limit = int(file.read())
    except (OSError, ValueError):
        return None
    used = 0
    with contextlib.suppress(OSError, ValueError):
        with open(f"{folder}/{use_name}", encoding="ascii") as file:
            used = int(file.read())
        with open(f"{folder}/memory.stat", encoding="ascii") as file:
            cached = sum(int(line.split()[1]) for line in file if line.split()[0] == cache_key)
        used = max(0, used - cached)
    return limit, limit - used


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


def release_free_memory() -> None:
    """Return unused memory to the system, after work with much temporary memory.

    This is memory that C code has freed, and pages of TensorFlow's libraries. Its import and the
    compilation of graphs read 0.3 GB of code and tables that later steps do not need. If a page is
    used again, the system maps it again, in microseconds.
    """
    with contextlib.suppress(AttributeError):  # other C libraries have no malloc_trim
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(FileNotFoundError), open("/proc/self/maps", encoding="utf-8") as file:
        for start, end in _code_mappings(file, "/libtensorflow"):
            ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), mmap.MADV_DONTNEED)


def _code_mappings(lines: Iterable[str], path_part: str) -> list[tuple[int, int]]:
    """Return start and end address of each mapping of libraries that has the file's content.

    Args:
        lines: content of /proc/self/maps.
        path_part: text in the libraries' paths.
    """
    mappings = []
    for line in lines:
        addresses, permissions, offset, _, _, *path = line.split()
        # Skip read-only data after the code: the loader has written addresses into it.
        is_code = "x" in permissions or int(offset, 16) == 0
        if is_code and "w" not in permissions and path_part in " ".join(path):
            start, end = (int(address, 16) for address in addresses.split("-"))
            mappings.append((start, end))
    return mappings


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
