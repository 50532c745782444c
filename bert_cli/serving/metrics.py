"""Metrics of the server and of its processes in Prometheus' format, summed over the processes."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from bert_cli import __version__
from bert_cli.serving.keys import Client
from bert_cli.serving.processes import METRICS_DIRECTORY, count_files, list_this_process, read_memory, read_stat

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_BATCH_TEXTS = (1, 2, 4, 8, 16, 32, 64)
_RESULTS = {True: "success", False: "failure"}
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
# Fields in /proc/PID/stat after the command's name, which may contain spaces: user and system time,
# the same two for ended children, and the start time since boot.
_TIMES, _CHILD_TIMES, _START = slice(11, 13), slice(13, 15), 19


class ServerMetrics:
    """Counts and times for GET /metrics."""

    def __init__(self, count_waiting: Callable[[], int], list_processes: Callable[[], list[int]] = list_this_process):
        """Create the metrics.

        Args:
            count_waiting: returns the number of texts that wait for a batch.
            list_processes: see ProcessCollector.
        """
        # Several processes have no times of creation, so omit them for one process, too.
        disable_created_metrics()
        self._count_waiting = count_waiting
        self._list_processes = list_processes
        self._registry = registry = CollectorRegistry()
        self._is_shared = METRICS_DIRECTORY in os.environ
        labels, model = ("path", "status", "model"), ("model",)
        self._requests = Counter("bert_requests", "Requests by path, status and model.", labels, registry=registry)
        self._seconds = Histogram(
            "bert_request_seconds",
            "Seconds from request to response.",
            ("path", "model"),
            buckets=_SECONDS,
            registry=registry,
        )
        # Sum over live processes only: a dead process has no waiting texts.
        self._waiting = Gauge(
            "bert_waiting_texts", "Texts that wait for a batch.", registry=registry, multiprocess_mode="livesum"
        )
        self._cut_texts = Counter(
            "bert_cut_texts", "Texts that were cut to the model's length.", model, registry=registry
        )
        self._batch_texts = Histogram(
            "bert_batch_texts", "Texts computed in one batch.", model, buckets=_BATCH_TEXTS, registry=registry
        )
        self._batch_seconds = Histogram(
            "bert_batch_seconds", "Seconds to compute a batch.", model, buckets=_SECONDS, registry=registry
        )
        self._queue_seconds = Histogram(
            "bert_queue_seconds",
            "Seconds from a request's arrival to its first batch.",
            model,
            buckets=_SECONDS,
            registry=registry,
        )
        self._add_model_metrics(registry)
        build = Gauge(
            "bert_build_info", "Version of bert_cli.", ("version",), registry=registry, multiprocess_mode="livemax"
        )
        build.labels(__version__).set(1)
        self._key_requests = Counter(
            "bert_key_requests", "Requests by name of the API key.", ("key", "status"), registry=registry
        )
        self._key_texts = Counter("bert_key_texts", "Texts by name of the API key.", ("key",), registry=registry)
        restart_counter(registry)
        # Set it now: processes.server_processes finds a process by the file of this metric.
        self._waiting.set(0)
        self._children: dict[tuple[str, int, str], Any] = {}

    def _add_model_metrics(self, registry: CollectorRegistry) -> None:
        model = ("model",)
        # Use the minimum: a checkpoint is in use when every process has loaded it.
        self._steps = Gauge(
            "bert_model_checkpoint_step",
            "Training step of the served checkpoint, 0 if unknown.",
            model,
            registry=registry,
            multiprocess_mode="livemin",
        )
        self._load_times = Gauge(
            "bert_model_load_timestamp_seconds",
            "Time at which the served checkpoint was loaded, in seconds since 1970.",
            model,
            registry=registry,
            multiprocess_mode="livemin",
        )
        self._reloads = Counter(
            "bert_model_reloads", "Attempts to load a newer checkpoint.", ("model", "result"), registry=registry
        )
        self._key_reloads = Counter(
            "bert_api_key_reloads", "Attempts to read the API keys again.", ("result",), registry=registry
        )

    def set_model(self, model: str, step: int) -> None:
        """Record a loaded checkpoint, and let all metrics begin at 0 for a new model.

        Args:
            model: the model's name.
            step: the checkpoint's training step, or 0.
        """
        self._steps.labels(model).set(step)
        self._load_times.labels(model).set(time.time())
        for metric in (self._cut_texts, self._batch_texts, self._batch_seconds, self._queue_seconds):
            metric.labels(model)
        for result in _RESULTS.values():
            self._reloads.labels(model, result)
            self._key_reloads.labels(result)

    def count_request(self, path: str, status: int, model: str, seconds: float) -> None:
        """Count a request.

        Args:
            path: path in the request, from a small fixed set.
            status: HTTP status in the response.
            model: the answering model's name, or "".
            seconds: time from request to response.
        """
        # Cache the children: looking up labels takes longer than counting.
        children = self._children.get((path, status, model))
        if children is None:
            children = self._requests.labels(path, str(status), model), self._seconds.labels(path, model)
            self._children[path, status, model] = children
        children[0].inc()
        children[1].observe(seconds)
        if self._is_shared:
            self._waiting.set(self._count_waiting())

    def count_key(self, key: str, status: int, num_texts: int) -> None:
        """Count a request with a named API key.

        Args:
            key: the key's name.
            status: HTTP status in the response.
            num_texts: number of texts in the request.
        """
        self._key_requests.labels(key, str(status)).inc()
        self._key_texts.labels(key).inc(num_texts)

    def count_batch(self, model: str, num_texts: int, num_cut_texts: int, seconds: float) -> None:
        """Count a batch.

        Args:
            model: the model's name.
            num_texts: number of texts.
            num_cut_texts: number of texts that were cut to the model's length.
            seconds: time to compute the batch.
        """
        self._batch_texts.labels(model).observe(num_texts)
        self._batch_seconds.labels(model).observe(seconds)
        if num_cut_texts:
            self._cut_texts.labels(model).inc(num_cut_texts)

    def count_cut_text(self, model: str) -> None:
        """Count an explained text that was cut to the model's length."""
        self._cut_texts.labels(model).inc()

    def count_waits(self, model: str, waits: Sequence[float]) -> None:
        """Count the seconds from the arrivals of requests to their first batch."""
        histogram = self._queue_seconds.labels(model)
        for seconds in waits:
            histogram.observe(seconds)

    def count_reload(self, model: str, is_success: bool) -> None:
        """Count an attempt to load a newer checkpoint."""
        self._reloads.labels(model, _RESULTS[is_success]).inc()

    def count_key_reload(self, is_success: bool) -> None:
        """Count an attempt to read the API keys again."""
        self._key_reloads.labels(_RESULTS[is_success]).inc()

    def text(self, client: Client) -> bytes:
        """Return metrics in Prometheus' text format, summed if there are several processes.

        Args:
            client: sees no other models and keys if it may not use all models.
        """
        self._waiting.set(self._count_waiting())
        registry = CollectorRegistry()
        if self._is_shared:
            MultiProcessCollector(registry)
        registry.register(ProcessCollector(self._list_processes))
        registries = [registry] if self._is_shared else [self._registry, registry]
        visible = CollectorRegistry()
        visible.register(_VisibleCollector(registries, client))
        return generate_latest(visible)


def restart_counter(registry: CollectorRegistry | None = None) -> Counter:
    """Return the counter for server processes that replaced others.

    Args:
        registry: registry of one process; None for the process that starts the others.
    """
    return Counter(
        "bert_process_restarts",
        "Server processes that were started because another one had ended.",
        registry=registry or CollectorRegistry(),
    )


class _VisibleCollector(Collector):
    """Collector with the metrics of registries that a client may see."""

    def __init__(self, registries: Sequence[CollectorRegistry], client: Client):
        self._registries = registries
        self._client = client

    def collect(self) -> Iterator[Metric]:
        client = self._client
        for registry in self._registries:
            for metric in registry.collect():
                if client.models:
                    metric.samples = [sample for sample in metric.samples if _is_visible(sample.labels, client)]
                yield metric


def _is_visible(labels: Mapping[str, str], client: Client) -> bool:
    # An empty model is in metrics of requests without an answer.
    return labels.get("model", "") in ("", *client.models) and labels.get("key", client.name) == client.name


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
