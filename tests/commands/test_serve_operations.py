"""bert-serve as its operators see it: logs, request ids, metrics and reloads."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading

import pytest

from tests.commands.test_serve import TEXTS, Served


class JsonServed(Served):
    """A server process with a log of JSON lines."""

    _has_ended = False

    def __init__(self, *flags: str):
        command = [sys.executable, "-m", "bert_cli.serve", "--port=0", "--log_format=json", *flags]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
        self.records: list[dict] = []
        self._changed = threading.Condition()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        message = self.wait_for(lambda record: record["message"].startswith("serving http"))["message"]
        self.port = int(message.rpartition(":")[2])

    def _read(self) -> None:
        for line in self.process.stderr:
            with self._changed:
                self.records.append(json.loads(line))
                self._changed.notify()
        with self._changed:
            self._has_ended = True
            self._changed.notify()

    def wait_for(self, is_expected, count: int = 1) -> dict:
        """Return the record number `count` for which is_expected(record) is true."""

        def expected_records() -> list[dict]:
            return [record for record in self.records if is_expected(record)]

        with self._changed:
            self._changed.wait_for(lambda: self._has_ended or len(expected_records()) >= count, timeout=60)
            assert len(expected_records()) >= count, self.records
            return expected_records()[count - 1]

    def log_of(self, request_id: str) -> dict:
        """Return the access log's record of a request."""
        return self.wait_for(lambda record: record.get("request_id") == request_id and "status" in record)


@contextlib.contextmanager
def serving(*flags):
    served = JsonServed(*map(str, flags))
    try:
        yield served
    finally:
        # End the workers too: they would keep the pipe open.
        served.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            served.process.wait(20)
        served.process.kill()
        served.process.wait()
        served.reader.join()
        served.process.stderr.close()


@pytest.fixture(scope="module")
def served(trained_once, tagger_once, tmp_path_factory):
    keys = tmp_path_factory.mktemp("keys") / "keys.txt"
    keys.write_text("# keys\n\nsecret\nteam-a:other\nteam-b:third models=tags texts_per_second=0.1\n")
    models = (f"--output_dir={trained_once[0]}", f"--model=tags={tagger_once[0]}")
    with serving(*models, f"--api_key_file={keys}", "--max_texts=50") as server:
        yield server


KEY = {"Authorization": "Bearer secret"}
LOGGED = [
    ("POST", "/predict", {"texts": TEXTS}, KEY, 200, 3, "default"),
    ("POST", "/predict/", {"text": "a dog", "model": "tags"}, KEY, 200, 1, "tags"),
    ("POST", "/v1/models/default:predict", {"instances": ["a", "b"]}, KEY, 200, 2, "default"),
    ("POST", "/v1/embeddings", {"input": "a dog"}, KEY, 200, 1, "default"),
    ("POST", "/predict", {"text": 7}, KEY, 400, 0, ""),
    ("POST", "/predict", {"texts": ["a"] * 51}, KEY, 413, 0, ""),
    ("POST", "/v1/models/none:predict", {"instances": ["a"]}, KEY, 404, 0, ""),
    ("POST", "/predict", {"text": "a dog"}, {}, 401, 0, ""),
    ("POST", "/predict", {"text": "a dog"}, {"Authorization": "Bearer # keys"}, 401, 0, ""),
    ("GET", "/nowhere?secret=1", None, KEY, 404, 0, ""),
    ("HEAD", "/", None, KEY, 200, 0, ""),
]


@pytest.mark.parametrize(("method", "path", "body", "headers", "status", "num_texts", "answering_model"), LOGGED)
def test_each_request_has_an_id_and_a_log_line(served, method, path, body, headers, status, num_texts, answering_model):
    request_id = f"test-{LOGGED.index((method, path, body, headers, status, num_texts, answering_model))}"
    received, answer, response_headers = served.ask(method, path, body, **headers, **{"X-Request-ID": request_id})
    assert (received, response_headers["x-request-id"]) == (status, request_id)
    if status >= 400:
        assert request_id in str(answer)
    record = served.log_of(request_id)
    assert (record["method"], record["path"], record["status"]) == (method, path.partition("?")[0], status)
    assert (record["texts"], record["model"]) == (num_texts, answering_model)
    assert record["level"] == "info"
    assert 0 < record["milliseconds"] < 30_000
    assert "secret" not in str(record)
    assert "a dog" not in str(record)


def test_named_keys_are_counted_and_probes_are_not_logged(served):
    assert served.ask("GET", "/health", **{"X-Request-ID": "probe"})[0] == 200
    assert (
        served.post("/predict", {"texts": TEXTS}, Authorization="Bearer other", **{"X-Request-ID": "named"})[0] == 200
    )
    record = served.log_of("named")
    assert (record["key"], record["client"]) == ("team-a", "127.0.0.1")
    assert not any(other.get("request_id") == "probe" for other in served.records)
    metrics = served.ask("GET", "/metrics", **KEY)[1]
    assert 'bert_key_requests_total{key="team-a",status="200"} 1.0' in metrics
    assert 'bert_key_texts_total{key="team-a"} 3.0' in metrics


def test_keys_have_limits(served):
    key = {"Authorization": "Bearer third"}
    status, answer = served.post("/predict", {"text": "a dog", "model": "default"}, **key)
    assert (status, "may use tags, and not default" in str(answer)) == (403, True)
    body = {"texts": ["a dog", "a cat"]}
    assert served.post("/predict", body, **key)[0] == 200
    status, _, headers = served.ask("POST", "/predict", body, **key)
    assert status == 429
    # Two texts take 20 seconds, and one second is free.
    assert 18 <= int(headers["retry-after"]) <= 19
    assert served.post("/predict", body, **KEY)[0] == 200


def test_traces_are_in_the_log_and_in_responses(served):
    trace = "0af7651916cd43dd8448eb211c80319c"
    headers = {"traceparent": f"00-{trace}-b7ad6b7169203331-01", "X-Request-ID": "traced"}
    sent = served.ask("POST", "/predict", {"text": "a dog"}, **headers, **KEY)[2]["traceparent"]
    record = served.log_of("traced")
    assert sent == f"00-{record['trace_id']}-{record['span_id']}-01"
    assert record["trace_id"] == trace
    assert "traceparent" not in served.ask("GET", "/health")[2]


def test_ids_of_the_server_differ(served):
    ids = {served.ask("GET", "/health", **{"X-Request-ID": value})[2]["x-request-id"] for value in ("", "a b", "é")}
    assert len(ids) == 3
    assert all(re.fullmatch("[0-9a-f]{32}", request_id) for request_id in ids)


def has_message(text: str):
    return lambda record: text in record["message"]


def scrape(port: int) -> dict[str, float]:
    """Return the values in /metrics by name and labels."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    with contextlib.closing(connection):
        connection.request("GET", "/metrics")
        response = connection.getresponse()
        assert response.status == 200
        lines = response.read().decode().splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


def metrics_port(served: JsonServed) -> int:
    message = served.wait_for(lambda record: record["message"].startswith("metrics at"))["message"]
    return int(re.search(r":(\d+)/metrics", message)[1])


@pytest.mark.parametrize("num_workers", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_metrics_port_needs_no_key_and_sums_all_processes(num_workers, trained_once, tmp_path):
    (tmp_path / "keys").write_text("secret\n")
    flags = (f"--output_dir={trained_once[0]}", f"--api_key_file={tmp_path / 'keys'}", "--metrics_port=0")
    with serving(*flags, f"--num_workers={num_workers}") as served:
        port = metrics_port(served)
        served.wait_for(has_message("serving http"), count=num_workers)
        for number in range(12):
            assert served.post("/predict", {"texts": TEXTS}, **KEY, **{"X-Request-ID": f"a{number}"})[0] == 200
            assert served.post("/predict", {"text": "a dog"}, **{"X-Request-ID": f"b{number}"})[0] == 401
        assert served.ask("GET", "/metrics")[0] == 401
        served.log_of("a11")
        served.log_of("b11")
        step = max(int(path.stem.rpartition("-")[2]) for path in trained_once[0].glob("model.ckpt-*.index"))
        for _ in range(6):
            values = scrape(port)
            assert values['bert_requests_total{model="default",path="/predict",status="200"}'] == 12
            assert values['bert_requests_total{model="",path="/predict",status="401"}'] == 12
            assert values['bert_request_seconds_count{model="default",path="/predict"}'] == 12
            assert values['bert_batch_texts_sum{model="default"}'] == 36
            assert values['bert_model_checkpoint_step{model="default"}'] == step
            assert values['bert_model_reloads_total{model="default",result="failure"}'] == 0
            assert values["bert_server_processes"] == num_workers
            assert values["process_cpu_seconds_total"] > 0
            assert values["process_resident_memory_bytes"] > 50e6
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
            for method, path, status in (("GET", "/ready", 200), ("GET", "/v1/models", 404), ("POST", "/predict", 404)):
                connection.request(method, path, b"")
                response = connection.getresponse()
                response.read()
                assert (path, response.status) == (path, status)


def test_metrics_stay_exact_after_a_worker_died(trained_once):
    with serving(f"--output_dir={trained_once[0]}", "--metrics_port=0", "--num_workers=2") as served:
        port = metrics_port(served)
        served.wait_for(has_message("serving http"), count=2)
        for number in range(10):
            assert served.post("/predict", {"text": "a dog"}, **{"X-Request-ID": f"a{number}"})[0] == 200
        served.log_of("a9")
        before = scrape(port)
        children = pathlib.Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text().split()
        # The first child converts log lines of libraries, and the others are the workers.
        os.kill(int(children[-1]), signal.SIGKILL)
        served.wait_for(lambda record: record["message"].startswith("serving"), count=3)
        after = scrape(port)
        name = 'bert_requests_total{model="default",path="/predict",status="200"}'
        assert before[name] == after[name] == 10
        assert after["process_cpu_seconds_total"] >= before["process_cpu_seconds_total"]
        assert after["bert_server_processes"] == 2


@pytest.mark.parametrize("num_workers", [1, 2])
def test_sighup_reloads_keys_and_checkpoints(num_workers, trained, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("first\n")
    newest = max(trained.glob("model.ckpt-*.index"), key=lambda path: int(path.stem.rpartition("-")[2])).stem
    flags = (f"--output_dir={trained}", f"--api_key_file={keys}", "--metrics_port=0", f"--num_workers={num_workers}")
    with serving(*flags) as served:
        served.wait_for(has_message("serving http"), count=num_workers)
        body = {"text": "a dog"}
        assert served.post("/predict", body, Authorization="Bearer first")[0] == 200
        keys.write_text("# the next key\n\nsecond\n")
        for path in trained.glob(f"{newest}.*"):
            shutil.copy(path, trained / path.name.replace(newest, "model.ckpt-900"))
        (trained / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-900"\n')
        served.process.send_signal(signal.SIGHUP)
        served.wait_for(has_message("model.ckpt-900"), count=num_workers)
        for _ in range(6):
            statuses = [
                served.post("/predict", body, Authorization=f"Bearer {key}")[0] for key in ("first", "second", "#")
            ]
            assert statuses == [401, 200, 401]
        # Damage the key file and the checkpoint: keys and model stay.
        keys.write_text("# nothing\n")
        damaged = next(trained.glob("model.ckpt-900.data*"))
        damaged.write_bytes(damaged.read_bytes()[:-50])
        served.process.send_signal(signal.SIGHUP)
        served.wait_for(has_message("stays in use"), count=num_workers)
        served.wait_for(has_message("the old API keys stay valid"), count=num_workers)
        assert served.post("/predict", body, Authorization="Bearer second")[0] == 200
        values = scrape(metrics_port(served))
        assert values['bert_model_checkpoint_step{model="default"}'] == 900
        for result in ("success", "failure"):
            assert values[f'bert_model_reloads_total{{model="default",result="{result}"}}'] == num_workers
            assert values[f'bert_api_key_reloads_total{{result="{result}"}}'] == num_workers
        assert served.end() == 0
        assert not any("Traceback" in str(record) for record in served.records)
