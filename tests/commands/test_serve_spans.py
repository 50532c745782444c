"""Spans of bert-serve's processes, as a collector of OpenTelemetry gets them."""

import contextlib
import http.client
import http.server
import json
import os
import queue
import subprocess
import sys
import threading

import pytest

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@contextlib.contextmanager
def collecting():
    """Yield a collector's address, and a queue with the bodies that it gets."""
    bodies: queue.Queue[bytes] = queue.Queue()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            bodies.put(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *values) -> None:
            """Keep the test's output clean."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", bodies
        server.shutdown()
        thread.join()


def test_processes_send_their_spans_before_they_end(trained_once):
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra otel")
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    command = [sys.executable, "-m", "bert_cli.serve", "--port=0", "--num_workers=2"]
    parent = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
    with collecting() as (address, bodies):
        environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": address}
        flags = [f"--output_dir={trained_once[0]}"]
        with subprocess.Popen([*command, *flags], stderr=subprocess.PIPE, text=True, env=environment) as process:
            line = next(line for line in process.stderr if "serving http" in line)
            connection = http.client.HTTPConnection("127.0.0.1", int(line.rpartition(":")[2]), timeout=30)
            connection.request("POST", "/predict", json.dumps({"text": "a dog"}), parent)
            assert connection.getresponse().status == 200
            connection.close()
            process.terminate()
            # Without an end of its pipe, a process would wait to write.
            process.stderr.read()
        assert process.returncode == 0
        request = ExportTraceServiceRequest.FromString(bodies.get(timeout=20))
    spans = request.resource_spans[0].scope_spans[0].spans
    assert {span.name for span in spans} == {"queue", "compute", "POST /predict"}
    assert {span.trace_id.hex() for span in spans} == {TRACE}
    assert [span.parent_span_id.hex() for span in spans if span.name == "POST /predict"] == [SPAN]
