"""Metrics about the server's processes: CPU time, memory, files and start time, from /proc."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
# Fields in /proc/PID/stat after the command's name, which may contain spaces: user and system time,
# the same two for ended children, and the start time since boot.
_TIMES, _CHILD_TIMES, _START = slice(11, 13), slice(13, 15), 19


class ProcessCollector:
    """Collector with Prometheus' usual process metrics, summed over the server's processes."""

    def __init__(self, list_processes: Callable[[], list[int]]):
        """Create the collector.

        Args:
            list_processes: returns process ids; the process that started the others comes first.
        """
        self._list_processes = list_processes

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, or nothing if the system has no /proc."""
        processes = self._list_processes()
        times = [read_stat(process) for process in processes]
        if not times[0]:
            return
        # A server's ended workers count as its children, so the sum never falls.
        ticks = sum(sum(fields[_TIMES]) for fields in times if fields) + sum(times[0][_CHILD_TIMES])
        yield CounterMetricFamily(
            "process_cpu_seconds", "CPU time of all server processes in seconds.", ticks / _TICKS_PER_SECOND
        )
        memory_sizes = [read_memory(process, is_shared=len(processes) > 1) for process in processes]
        yield GaugeMetricFamily(
            "process_resident_memory_bytes",
            "Resident memory of all server processes in bytes; shared memory counts once.",
            sum(memory_sizes),
        )
        yield GaugeMetricFamily(
            "process_open_fds", "Open file descriptors of all server processes.", sum(map(count_files, processes))
        )
        started = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + times[0][_START] / _TICKS_PER_SECOND
        yield GaugeMetricFamily(
            "process_start_time_seconds", "Time at which the server started, in seconds since 1970.", started
        )
        num_workers = sum(bool(fields) for fields in times[1:]) if len(processes) > 1 else 1
        yield GaugeMetricFamily("bert_server_processes", "Processes that answer requests.", num_workers)


def read_stat(process: int) -> list[int]:
    """Return the numbers in /proc/PID/stat after the state, or [] if the process does not exist."""
    try:
        with open(f"/proc/{process}/stat", encoding="latin-1") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return []
    # A process that has ended, but was not waited for, answers no requests.
    return [] if fields[0] == "Z" else [0, *map(int, fields[1:])]


def read_memory(process: int, is_shared: bool) -> int:
    """Return a process's resident memory in bytes, or 0 if it does not exist.

    Args:
        process: the process id.
        is_shared: divide memory by the number of processes that share it.
    """
    with contextlib.suppress(OSError):
        if is_shared:
            with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
                return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
        with open(f"/proc/{process}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def count_files(process: int) -> int:
    """Return how many files a process has open, or 0 if it does not exist."""
    with contextlib.suppress(OSError):
        return len(os.listdir(f"/proc/{process}/fd"))
    return 0
