"""Server metrics in Prometheus' format, summed over the server's processes."""

import os
import time
from collections.abc import Callable
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

from bert_cli import __version__
from bert_cli.serving.monitoring.process_metrics import ProcessCollector
from bert_cli.serving.monitoring.sharing import METRICS_DIRECTORY, server_processes

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_BATCH_TEXTS = (1, 2, 4, 8, 16, 32, 64)
_RESULTS = {True: "success", False: "failure"}


class Metrics:
    """Counts and times for GET /metrics."""

    def __init__(self, count_waiting: Callable[[], int]):
        """Take a function that returns the number of texts that wait for a batch."""
        # Several processes have no times of creation, so omit them for one process, too.
        disable_created_metrics()
        self._count_waiting = count_waiting
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
        build = Gauge(
            "bert_build_info", "Version of bert_cli.", ("version",), registry=registry, multiprocess_mode="livemax"
        )
        build.labels(__version__).set(1)
        # Set it now: sharing.server_processes finds a process by the file of this metric.
        self._waiting.set(0)
        self._children: dict[tuple[str, int, str], Any] = {}

    def set_model(self, model: str, step: int) -> None:
        """Record a loaded checkpoint, and let all metrics begin at 0 for a new model.

        Args:
            model: the model's name.
            step: the checkpoint's training step, or 0.
        """
        self._steps.labels(model).set(step)
        self._load_times.labels(model).set(time.time())
        for metric in (self._cut_texts, self._batch_texts, self._batch_seconds):
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

    def count_reload(self, model: str, is_success: bool) -> None:
        """Count an attempt to load a newer checkpoint."""
        self._reloads.labels(model, _RESULTS[is_success]).inc()

    def count_key_reload(self, is_success: bool) -> None:
        """Count an attempt to read the API keys again."""
        self._key_reloads.labels(_RESULTS[is_success]).inc()

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format, summed if there are several processes."""
        self._waiting.set(self._count_waiting())
        registry = CollectorRegistry()
        if self._is_shared:
            MultiProcessCollector(registry)
        registry.register(ProcessCollector(server_processes))
        if self._is_shared:
            return generate_latest(registry)
        return generate_latest(self._registry) + generate_latest(registry)
