"""Spans of requests for OpenTelemetry, if its standard variables name an exporter.

Needs the extra `otel`. Without such a variable, nothing of OpenTelemetry is imported.
"""

import importlib.util
import os
import threading
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, NamedTuple

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.log import LOG
from bert_cli.runtime.installing import how_to_install

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.trace import Span, Tracer

# Variables with the address of a collector.
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_EXPORTER = "OTEL_TRACES_EXPORTER"
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_SERVICE = "bert-serve"
# Most time to send the last spans when the server ends.
_FLUSH_SECONDS = 1.0
Attributes = Mapping[str, str | int]


class Phase(NamedTuple):
    """A part of a request: its name, and its start and end from time.monotonic()."""

    name: str
    start: float
    end: float


class RequestSpan:
    """The span of a request that is being answered.

    Attributes:
        trace_parent: W3C's header for this span.
        phases: parts of the request, which become child spans.
    """

    def __init__(self, tracer: "Tracer", span: "Span"):
        self._tracer = tracer
        self._span = span
        self.phases: list[Phase] = []
        context = span.get_span_context()
        self.trace_parent = f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"

    def end(self, name: str, attributes: Attributes, is_failure: bool) -> None:
        """End the span and its children.

        Args:
            name: the span's name.
            attributes: its attributes; empty texts are omitted.
            is_failure: whether the server failed.
        """
        from opentelemetry.trace import StatusCode, set_span_in_context

        # Times of phases do not jump when somebody sets the clock.
        clock_offset = time.time_ns() - time.monotonic_ns()
        parent = set_span_in_context(self._span)
        for phase in self.phases:
            start, end = (int(seconds * 1e9) + clock_offset for seconds in (phase.start, phase.end))
            self._tracer.start_span(phase.name, parent, start_time=start).end(end)
        self._span.update_name(name)
        self._span.set_attributes({key: value for key, value in attributes.items() if value != ""})
        if is_failure:
            self._span.set_status(StatusCode.ERROR)
        self._span.end()


class Spans:
    """The spans of a server's process."""

    def __init__(self, processors: "Sequence[SpanProcessor]"):
        """Create spans for these processors; variables choose the sampler and the resource."""
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider

        resource = Resource.create()
        if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
            resource = resource.merge(Resource({SERVICE_NAME: _SERVICE}))
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        for processor in processors:
            self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("bert_cli")

    def start(self, headers: Mapping[str, str]) -> RequestSpan:
        """Return a request's span, whose parent is in the request's headers if they have one."""
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind

        return RequestSpan(self._tracer, self._tracer.start_span("request", extract(headers), SpanKind.SERVER))

    def close(self) -> None:
        """Send the last spans, for a short time."""
        # force_flush of opentelemetry-sdk 1.45 ignores
        # its time limit, and an exporter tries for 10 s.
        sending = threading.Thread(target=self._provider.force_flush, daemon=True)
        sending.start()
        sending.join(_FLUSH_SECONDS)


def open_spans() -> Spans | None:
    """Return spans for the exporters in OTEL_* variables, or None without exporters.

    Raises:
        InputError: if no package has an exporter with this name, or if it refuses its variables.
    """
    endpoint = next((name for name in _ENDPOINTS if os.environ.get(name)), None)
    names = os.environ.get(_EXPORTER) or ("otlp" if endpoint else "none")
    if names == "none" or os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    variable = _EXPORTER if os.environ.get(_EXPORTER) else endpoint
    if not (importlib.util.find_spec("opentelemetry") and importlib.util.find_spec("opentelemetry.sdk")):
        LOG.warning("warning: %s is set, but no spans are sent without: %s", variable, how_to_install("otel"))
        return None
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    protocol = next((os.environ[name] for name in _PROTOCOLS if os.environ.get(name)), "http/protobuf")
    processors = []
    for name in (part.strip() for part in names.split(",")):
        # OpenTelemetry's names of its two packages for OTLP.
        kind = f"otlp_proto_{protocol.removesuffix('/protobuf')}" if name == "otlp" else name
        exporters = list(entry_points(group="opentelemetry_traces_exporter", name=kind))
        refuse_if(not exporters, f"{variable}: no installed package has the exporter {kind} of OpenTelemetry")
        try:
            processors.append(BatchSpanProcessor(exporters[0].load()()))
        except Exception as error:  # exporters of other packages raise anything
            raise InputError(f"{variable}: the exporter {kind} cannot be used: {error}") from None
    LOG.info("spans of requests are sent by OpenTelemetry (%s)", names)
    return Spans(processors)
