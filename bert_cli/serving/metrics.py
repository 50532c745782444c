"""Server metrics in Prometheus' format, summed over the server's processes."""

import os
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from bert_cli.serving.processes import METRICS_DIRECTORY
from bert_cli.serving.service import Service

_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


class Metrics:
    """Counts and times for GET /metrics."""

    def __init__(self, service: Service):
        self._service = service
        self._registry = CollectorRegistry()
        self._is_shared = METRICS_DIRECTORY in os.environ
        registry = self._registry
        labels = ("path", "status")
        self._requests = Counter("bert_requests", "Requests by path and status.", labels, registry=registry)
        self._seconds = Histogram(
            "bert_request_seconds", "Seconds from request to answer.", ("path",), buckets=_BUCKETS, registry=registry
        )
        # Sum over live processes only: a dead process has no waiting texts.
        self._waiting = Gauge(
            "bert_waiting_texts", "Texts that wait for a batch.", registry=registry, multiprocess_mode="livesum"
        )
        cut_texts = Counter("bert_cut_texts", "Texts that were cut to the length of a model.", registry=registry)
        service.on_cut_texts = cut_texts.inc
        self._children: dict[tuple[str, int], Any] = {}

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count a request.

        Args:
            path: path in the request, from a small fixed set.
            status: HTTP status in the response.
            seconds: time from request to response.
        """
        # Cache the children: looking up labels takes longer than counting.
        children = self._children.get((path, status))
        if children is None:
            children = self._requests.labels(path, str(status)), self._seconds.labels(path)
            self._children[path, status] = children
        children[0].inc()
        children[1].observe(seconds)
        if self._is_shared:
            self._waiting.set(self._service.batcher.waiting)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format, summed if there are several processes."""
        self._waiting.set(self._service.batcher.waiting)
        if not self._is_shared:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)
        return generate_latest(registry)
