"""Spans of requests for OpenTelemetry, as an exporter gets them."""

import os
import re
import subprocess
import sys

import pytest

from bert_cli.base.errors import InputError
from bert_cli.runtime.spans import Spans, open_spans
from tests.serving.http.calls import Application, FirstWords, make_model

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = {"traceparent": f"00-{TRACE}-{SPAN}-01"}


def span_tree(spans) -> dict[str, tuple]:
    """Return each span's trace and parent by name."""
    return {
        span.name: (f"{span.context.trace_id:032x}", span.parent and f"{span.parent.span_id:016x}") for span in spans
    }


@pytest.fixture
def exported():
    """Return an application, and an exporter that keeps its spans."""
    pytest.importorskip("opentelemetry.sdk", reason="needs the extra otel")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    application = Application(make_model(FirstWords, "first"), spans=Spans([SimpleSpanProcessor(exporter)]))
    yield application, exporter
    application.close()


def test_a_request_has_a_span_with_its_parent_and_its_phases(exported):
    application, exporter = exported
    status, headers, _ = application.send("POST", "/predict", b'{"texts": ["a dog", "a cat"]}', **PARENT)
    queued, computed, server = exporter.get_finished_spans()
    span_id = f"{server.context.span_id:016x}"
    assert status == 200
    assert headers["traceparent"] == f"00-{TRACE}-{span_id}-01"
    assert span_tree([queued, computed, server]) == {
        "queue": (TRACE, span_id), "compute": (TRACE, span_id), "POST /predict": (TRACE, SPAN),
    }  # fmt: skip
    assert server.start_time <= queued.start_time <= queued.end_time == computed.start_time <= computed.end_time
    assert computed.end_time <= server.end_time
    sent = {"http.route": "/predict", "http.response.status_code": 200, "bert.model": "first", "bert.texts": 2}
    assert sent.items() <= server.attributes.items()
    assert "a dog" not in server.to_json()
    assert server.resource.attributes["service.name"] == "bert-serve"


def test_spans_of_errors_probes_and_unsampled_traces(exported):
    application, exporter = exported
    assert application.get("/health")[0] == 200
    application.send("POST", "/predict", b"{}", traceparent=f"00-{TRACE}-{SPAN}-00")
    assert not exporter.get_finished_spans()
    assert application.post("/predict", {"text": 7})[0] == 400
    application.service.models["first"].answer = lambda items: 1 / 0
    assert application.post("/v1/models/first:predict", {"instances": ["a"]})[0] == 500
    failed = {span.name: span for span in exporter.get_finished_spans()}
    assert failed.keys() == {"POST /predict", "queue", "compute", "POST /v1/models/NAME:predict"}
    assert failed["POST /predict"].parent is None
    assert failed["POST /predict"].status.is_unset
    assert not failed["POST /v1/models/NAME:predict"].status.is_ok


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"OTEL_SERVICE_NAME": "a", "OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
        {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
    ],
)
def test_nothing_is_imported_without_an_exporter(variables):
    program = "import sys; from bert_cli.runtime.spans import open_spans; print(open_spans(), *sys.modules)"
    command = [sys.executable, "-c", program]
    printed = subprocess.run(command, env={**os.environ, **variables}, check=True, capture_output=True, text=True)
    assert printed.stdout.startswith("None ")
    assert "opentelemetry" not in printed.stdout


def test_an_endpoint_without_the_extra_is_reported(monkeypatch, caplog):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert open_spans() is None
    assert "pip install -e '.[otel]' in the clone" in caplog.text


@pytest.mark.parametrize(
    ("variables", "fragment"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER: no installed package has the exporter zipkin"),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_EXPORTER_OTLP_PROTOCOL": "other"},
            "OTEL_EXPORTER_OTLP_ENDPOINT: no installed package has the exporter otlp_proto_other",
        ),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_BSP_MAX_QUEUE_SIZE": "-1"},
            "OTEL_TRACES_EXPORTER: the exporter otlp_proto_http cannot be used",
        ),
    ],
)
def test_unusable_exporters_are_refused(monkeypatch, variables, fragment):
    pytest.importorskip("opentelemetry.sdk", reason="needs the extra otel")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=re.escape(fragment)):
        open_spans()
