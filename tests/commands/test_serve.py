"""bert-serve as a process, with HTTP clients, the openai client, curl and a browser."""

import base64
import concurrent.futures
import contextlib
import gzip
import http.client
import json
import os
import pathlib
import queue
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

import numpy as np
import pytest

from bert_cli import Classifier, FeatureExtractor, QuestionAnswerer, Tagger, serve
from tests.browser import browse, needs_browser
from tests.commands import helpers
from tests.light_environment import make_light_environment, run_light
from tests.rows import write_rows
from tests.waiting import wait_until

TEXTS = ["the old dog sees a cat .", "a bird", "the bird likes a small fish and a horse ."]


class Served:
    """A server process."""

    log_lines: "queue.SimpleQueue | None" = None

    def __init__(self, *flags: str, **environment: str):
        command = [sys.executable, "-m", "bert_cli.serve", "--port=0", *flags]
        self.lines: list[str] = []
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
        while not (match := re.match(r"serving http://127\.0\.0\.1:(\d+)", self.read_line())):
            assert self.process.poll() is None, self.lines
        self.port = int(match[1])
        # Read all the time: a full pipe would stop the server.
        self.log_lines = queue.SimpleQueue()
        self.reader = threading.Thread(target=lambda: [self.log_lines.put(line) for line in self.process.stderr])
        self.reader.start()

    def read_line(self) -> str:
        line = self.log_lines.get(timeout=60) if self.log_lines else self.process.stderr.readline()
        self.lines.append(line)
        return line

    def ask(self, method: str, path: str, body=None, **headers: str):
        """Return (status, JSON or text of the response, headers)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            text = answer.read().decode()
            content_type = answer.headers.get("content-type", "")
            return answer.status, json.loads(text) if "json" in content_type else text, answer.headers

    def post(self, path: str, body, **headers: str):
        status, answer, _ = self.ask("POST", path, body, **headers)
        return status, answer

    def wait_until_unready(self) -> None:
        wait_until(lambda: self.ask("GET", "/ready")[0] == 503)

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


@contextlib.contextmanager
def serving(*flags: str, **environment: str):
    served = Served(*map(str, flags), **environment)
    try:
        yield served
    finally:
        served.process.kill()
        served.process.wait()
        served.reader.join()
        served.process.stderr.close()


def metric(served: Served, name: str) -> str:
    """Return the value of a metric, named with its labels."""
    return re.search(rf"^{re.escape(name)} (\S+)$", served.ask("GET", "/metrics")[1], re.MULTILINE)[1]


@pytest.fixture(scope="module")
def served(trained_once, tagger_once, answering):
    models = (f"--model=tags={tagger_once[0]}", f"--model=answers={answering}")
    with serving(f"--output_dir={trained_once[0]}", *models, "--max_texts=50", "--max_body_bytes=20000") as server:
        yield server


def test_classifier_gives_the_records_of_input_file(served, trained_once, classify, tmp_path):
    write_rows(tmp_path / "texts.txt", TEXTS)
    flags = [f"--output_dir={trained_once[0]}", f"--input_file={tmp_path / 'texts.txt'}"]
    expected = [json.loads(line) for line in classify(*flags).out.splitlines()]
    items = [TEXTS[0], {"text": TEXTS[1]}, TEXTS[2]]
    status, answer = served.post("/predict", {"texts": items})
    assert status == 200
    assert_same_records(answer["predictions"], expected)
    assert_same_records(served.post("/v1/models/default:predict", {"instances": items})[1]["predictions"], expected)
    assert_same_records([served.post("/predict", {"text": TEXTS[0]})[1]], expected[:1])


def assert_same_records(actual, expected):
    assert [record.keys() for record in actual] == [record.keys() for record in expected]
    for ours, theirs in zip(actual, expected, strict=True):
        assert {name: ours[name] for name in ("index", "text", "label")} == {
            name: theirs[name] for name in ("index", "text", "label")
        }
        assert list(ours["probabilities"].values()) == pytest.approx(list(theirs["probabilities"].values()), abs=1e-6)


def test_taggers_and_questions(served, tagger_once, answering):
    texts = ["Zora lives in Kelm .", "the dog"]
    expected = Tagger.load(str(tagger_once[0])).records(texts)
    records = served.post("/predict", {"texts": texts, "model": "tags"})[1]["predictions"]
    assert [record["entities"] for record in records] == [record["entities"] for record in expected]
    question = {"question": "who sees a dog ?", "context": "the cat sees a dog . a bird sings ."}
    answer = served.post("/predict", question | {"model": "answers"})[1]
    plain = QuestionAnswerer.load(str(answering)).records([tuple(question.values())])[0]
    assert (answer["answer"], answer["start"], answer["sentence"]) == (
        plain["answer"],
        plain["start"],
        plain["sentence"],
    )
    several = [question | {"id": "x"}, ["who sings ?", "a bird sings ."]]
    answers = served.post("/predict", {"texts": several, "model": "answers"})[1]["predictions"]
    assert [record["id"] for record in answers] == ["x", "1"]
    assert "index" not in answers[0]
    words = served.post("/explain", {"text": TEXTS[0]})[1]
    assert [word["word"] for word in words["words"]] == TEXTS[0].split()
    for path, body, message in (
        ("/predict", {"text": "a", "text_b": "b", "model": "tags"}, "single texts"),
        ("/predict", {"texts": ["a", ["a", "b"]], "model": "default"}, "texts[1]: has a second text"),
        ("/predict", {"question": "a", "model": "answers"}, "answers questions"),
        ("/explain", {"text": "a", "model": "tags"}, "classifiers are explained"),
    ):
        status, answer = served.post(path, body)
        assert (status, message in answer["error"]["message"]) == (400, True)


def test_the_openai_client(served, trained_once):
    openai = pytest.importorskip("openai")
    expected = FeatureExtractor.load(str(trained_once[0]), normalize=True).extract(TEXTS)
    # The client keeps its connection open. If it was left to the garbage collector, a later test would get the ResourceWarning.
    with openai.OpenAI(base_url=f"http://127.0.0.1:{served.port}/v1", api_key="none") as client:
        # base64, which the client requests by default.
        answer = client.embeddings.create(model="default", input=TEXTS)
        np.testing.assert_allclose([item.embedding for item in answer.data], expected, atol=1e-6)
        plain = client.embeddings.create(model="default", input=TEXTS[0], encoding_format="float")
        np.testing.assert_allclose(plain.data[0].embedding, expected[0], atol=1e-6)
        assert plain.usage.prompt_tokens == len(TEXTS[0].split()) + 2
        assert [model.id for model in client.models.list()] == ["default", "tags", "answers"]
        with pytest.raises(openai.NotFoundError, match="no model 'gpt-4'"):
            client.embeddings.create(model="gpt-4", input="a")


def test_curl(served):
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    command = ["curl", "-s", f"http://127.0.0.1:{served.port}/predict", "-d", json.dumps({"text": "a dog"})]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["text"] == "a dog"


def cut_texts(served):
    metrics = served.ask("GET", "/metrics")[1]
    return sum(map(float, re.findall(r"\nbert_cut_texts_total\{model=.*\} (.*)", metrics)))


def test_texts_that_are_cut_are_counted(served):
    """All routes count them, and the log has one line per model."""
    count = cut_texts(served)
    long = "dog " * 200
    assert served.post("/predict", {"texts": [long, "a dog", long]})[0] == 200
    assert served.post("/v1/models/default:predict", {"instances": [long]})[0] == 200
    assert served.post("/explain", {"text": long})[0] == 200
    assert served.post("/v1/embeddings", {"input": [long, "a dog"]})[0] == 200
    question = {"question": long, "context": "a dog", "model": "answers"}
    assert served.post("/predict", question)[0] == 200
    assert cut_texts(served) == count + 2 + 1 + 1 + 1 + 1


def test_state_metrics_and_pages(served):
    assert served.ask("GET", "/health")[:2] == (200, {"status": "ok"})
    assert served.ask("GET", "/ready")[:2] == (200, {"status": "ready"})
    kinds = [model["kind"] for model in served.ask("GET", "/v1/models")[1]["data"]]
    assert kinds == ["classifier", "tagger", "question_answerer"]
    served.post("/predict", {"text": "a dog"})
    metrics = served.ask("GET", "/metrics")[1]
    assert re.search(r'bert_requests_total\{model="default",path="/predict",status="200"\} [1-9]', metrics)
    assert 'bert_request_seconds_bucket{le="0.01",model="default",path="/predict"}' in metrics
    assert "/predict" in served.ask("GET", "/openapi.json")[1]["paths"]
    for path in ("/", "/docs"):
        status, page, headers = served.ask("GET", path)
        assert status == 200
        assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
        assert "default-src 'none'" in headers["content-security-policy"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/predict", b"", 400),
        ("/predict", b"{", 400),
        ("/predict", b"\xff\xfe", 400),
        ("/predict", b"[" * 10_000, 400),
        ("/predict", {"text": 7}, 400),
        ("/predict", {"texts": "a"}, 400),
        ("/predict", {"text": "a\x00b"}, 400),
        ("/predict", {"text": "a\ud800b"}, 400),
        ("/predict", {"texts": ["a"] * 51}, 413),
        ("/predict", {"text": "a" * 30_000}, 413),
        ("/predict", {"text": "a", "model": "none"}, 404),
        ("/v1/models/none:predict", {"instances": ["a"]}, 404),
        ("/v1/models/default:predict", {}, 400),
        ("/v1/embeddings", {"input": [1]}, 400),
        ("/nowhere", {}, 404),
    ],
)
def test_refusals(served, path, body, status):
    actual_status, answer = served.post(path, body)
    assert actual_status == status
    assert answer["error"]
    assert "Traceback" not in str(answer)
    assert served.post("/predict", {"texts": []}) == (200, {"predictions": []})


def test_bodies_without_a_length_and_methods(served):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)) as connection:
        headers = {"Transfer-Encoding": "chunked"}
        connection.request("POST", "/predict", iter([b"x" * 20_500]), headers, encode_chunked=True)
        assert connection.getresponse().status == 413


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("GET", "/predict", 405, "POST"),
        ("POST", "/v1/models", 405, "GET, HEAD"),
        ("PUT", "/metrics", 405, "GET, HEAD"),
        ("GET", "/v1/models/default:predict", 405, "POST"),
        ("POST", "/v1/models/default", 405, "GET, HEAD"),
        ("POST", "/v1/models/default:classify", 404, None),
        ("POST", "/v1/models/none:classify", 404, None),
    ],
)
def test_other_methods_and_operations(served, method, path, status, allow):
    received, _, headers = served.ask(method, path, {})
    assert (received, headers["allow"]) == (status, allow)


def test_packed_bodies(served):
    body = gzip.compress(json.dumps({"text": "a dog"}).encode())
    assert served.ask("POST", "/predict", body, **{"Content-Encoding": "gzip"})[:2][1]["text"] == "a dog"
    assert served.ask("POST", "/predict", body, **{"Content-Encoding": "br"})[0] == 415


@pytest.mark.parametrize("path", ["/predict/", "/predict//", "/predict/?a=b"])
def test_a_trailing_slash_is_answered_without_a_redirect(served, path):
    proxy = {"Host": "api.example.com", "X-Forwarded-Proto": "https", "X-Forwarded-Prefix": "/bert"}
    status, answer, headers = served.ask("POST", path, {"text": "a dog"}, **proxy)
    assert (status, answer["text"], headers["location"]) == (200, "a dog", None)
    assert served.ask("GET", "/v1/models/")[0] == 200
    assert served.ask("POST", "/nowhere/", {})[0] == 404


def test_pages_show_the_prefix_of_a_proxy(served):
    proxy = {"X-Forwarded-Prefix": "/bert"}
    assert served.ask("GET", "/openapi.json", **proxy)[1]["servers"] == [{"url": "/bert"}]
    assert served.ask("GET", "/openapi.json")[1]["servers"] == [{"url": "/"}]
    assert 'href="/bert/openapi.json"' in served.ask("GET", "/docs", **proxy)[1]
    assert 'const prefix = "/bert";' in served.ask("GET", "/", **proxy)[1]


@pytest.mark.parametrize(
    "path", ["/health", "/ready", "/", "/docs", "/metrics", "/v1/models", "/openapi.json", "/health/"]
)
def test_head_requests_are_like_get(served, path):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)) as connection:
        connection.request("HEAD", path)
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"")
        assert int(answer.headers["content-length"]) > 0


def test_null_members_are_ignored(served):
    body = {"input": "a dog", "encoding_format": None, "dimensions": None, "user": None}
    status, answer = served.post("/v1/embeddings", body)
    assert status == 200
    assert isinstance(answer["data"][0]["embedding"], list)


def test_model_status_as_in_tensorflow_serving(served):
    status = {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
    for path in ("/v1/models/tags", "/v1/models/tags/versions/1"):
        assert served.ask("GET", path)[1]["model_version_status"] == [status]
    metadata = served.ask("GET", "/v1/models/answers/metadata")[1]
    assert metadata["model_spec"] == {"name": "answers", "signature_name": "", "version": "1"}
    inputs = metadata["metadata"]["signature_def"]["signature_def"]["serving_default"]["inputs"]
    assert list(inputs) == ["question", "context"]
    body = {"instances": ["a dog"]}
    answered = served.post("/v1/models/default/versions/1:predict", body)
    assert answered == served.post("/v1/models/default:predict", body)
    for path in ("/v1/models/none", "/v1/models/default/versions/2", "/v1/models/none/metadata"):
        assert served.ask("GET", path)[0] == 404
    assert served.post("/v1/models/default/versions/7:predict", body)[0] == 404


@pytest.fixture(scope="module")
def guarded(trained_once, tmp_path_factory):
    """A server that needs a key, and allows another origin and a root path."""
    keys = tmp_path_factory.mktemp("keys") / "keys.txt"
    keys.write_text("first\nsecond\n")
    flags = ("--root_path=/bert", "--allowed_origins=https://page.example", f"--api_key_file={keys}")
    with serving(f"--output_dir={trained_once[0]}", *flags) as server:
        yield server


def test_other_origins_and_a_root_path(guarded):
    request_headers = {"Origin": "https://page.example", "Access-Control-Request-Method": "POST"}
    status, _, headers = guarded.ask("OPTIONS", "/bert/predict", **request_headers)
    assert (status, headers["access-control-allow-origin"]) == (200, "https://page.example")
    sent = {"Origin": "https://page.example", "Authorization": "Bearer first"}
    for path in ("/bert/predict/", "/predict"):
        status, answer, headers = guarded.ask("POST", path, {"text": "a dog"}, **sent)
        assert (status, answer["text"]) == (200, "a dog")
        assert headers["access-control-allow-origin"] == "https://page.example"
    headers = guarded.ask("GET", "/health", Origin="https://other.example")[2]
    assert headers["access-control-allow-origin"] is None


def test_too_large_body_gets_a_response(served):
    """Many clients send the whole body before they read."""
    for _ in range(5):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)) as connection:
            connection.request("POST", "/predict", b"x" * 150_000)
            assert connection.getresponse().status == 413
    assert served.post("/predict", {"text": "a dog"})[0] == 200


def test_invalid_http_gets_a_json_response(served):
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        connection.sendall(b"no http at all\r\n\r\n")
        head, _, body = connection.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["error"]["code"] == 400


def test_fuzzed_requests_between_good_ones(served):
    """Random bytes, truncated requests and closed connections do not affect good requests."""
    rng = random.Random(0)
    expected = served.post("/predict", {"text": TEXTS[0]})[1]
    good = json.dumps({"text": TEXTS[0]}).encode()

    def hostile(number: int) -> None:
        variant = number % 4
        body = bytearray(good * rng.randint(1, 3))
        for _ in range(rng.randint(1, 8)):
            body[rng.randrange(len(body))] = rng.randrange(256)
        head = f"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        data = (head + body, rng.randbytes(rng.randint(1, 300)), head + body[:-3], head[: rng.randint(1, len(head))])[
            variant
        ]
        with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
            connection.sendall(data)
            if variant < 1:
                assert re.match(rb"HTTP/1.1 [24]\d\d ", connection.recv(65536))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        attacks = [pool.submit(hostile, number) for number in range(400)]
        answers = [pool.submit(served.post, "/predict", {"text": TEXTS[0]}) for _ in range(100)]
        for attack in attacks:
            attack.result()
        for answer in answers:
            status, actual = answer.result()
            assert (status, actual["label"]) == (200, expected["label"])
            assert actual["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-5)
    assert served.process.poll() is None


def test_each_of_many_clients_gets_its_response(served):
    texts = [
        f"the {word} dog sees a {animal}" for word in ("old", "small", "green") for animal in ("cat", "fish", "bird")
    ] * 8
    expected = dict(zip(texts, served_probabilities(served, texts), strict=True))
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        responses = list(pool.map(lambda text: served.post("/predict", {"text": text}), texts))
    for text, (status, answer) in zip(texts, responses, strict=True):
        assert (status, answer["text"]) == (200, text)
        assert answer["probabilities"] == pytest.approx(expected[text], abs=1e-5)


def served_probabilities(served, texts):
    records = []
    for start in range(0, len(texts), 50):
        records += served.post("/predict", {"texts": texts[start : start + 50]})[1]["predictions"]
    return [record["probabilities"] for record in records]


def test_api_keys(guarded):
    body = {"text": "a dog"}
    assert guarded.post("/predict", body)[0] == 401
    assert guarded.post("/predict", body, Authorization="Bearer third")[0] == 401
    assert guarded.post("/predict", body, Authorization="Bearer second")[0] == 200
    password = base64.b64encode(b"anybody:first").decode()
    assert guarded.ask("GET", "/", Authorization=f"Basic {password}")[0] == 200
    assert [guarded.ask("GET", path)[0] for path in ("/health", "/ready")] == [200, 200]
    assert [guarded.ask("GET", path)[0] for path in ("/", "/metrics", "/v1/models", "/docs")] == [401] * 4


def test_server_completes_running_requests_before_it_ends(trained_once):
    with serving(f"--output_dir={trained_once[0]}", "--max_queue=10000") as served:
        with concurrent.futures.ThreadPoolExecutor(9) as pool:
            running = [pool.submit(served.post, "/predict", {"texts": ["the dog " * 60] * 1000}) for _ in range(9)]
            wait_until(lambda: float(metric(served, "bert_waiting_texts")) >= 3000)
            assert not all(request.done() for request in running)
            served.process.send_signal(signal.SIGTERM)
            served.wait_until_unready()
            assert served.post("/predict", {"text": "a dog"})[0] == 503
            answers = [request.result() for request in running]
        # A request after the signal is refused; accepted requests are completed.
        assert {status for status, _ in answers} <= {200, 503}
        done = [len(answer["predictions"]) for status, answer in answers if status == 200]
        assert done == [1000] * len(done)
        assert len(done) >= 3
        assert served.process.wait(20) == 0


# test_sighup_reloads_keys_and_checkpoints ends an idle server with SIGTERM.
@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGINT])
def test_idle_server_ends_immediately(trained_once, number):
    with serving(f"--output_dir={trained_once[0]}") as served:
        began = time.monotonic()
        assert served.end(number) == 0
        assert time.monotonic() - began < 5


def test_second_signal_ends_a_busy_server_immediately(trained_once):
    """The exit code is 0 during a computation; Python's normal exit would abort the process."""
    with serving(f"--output_dir={trained_once[0]}", "--max_queue=10000") as served:
        body = json.dumps({"texts": ["the dog " * 60] * 1000}).encode()
        head = f"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        with contextlib.ExitStack() as stack:
            for _ in range(9):
                connection = socket.create_connection(("127.0.0.1", served.port), timeout=20)
                stack.enter_context(connection).sendall(head + body)
            assert served.ask("GET", "/health")[0] == 200
            served.process.send_signal(signal.SIGTERM)
            served.wait_until_unready()
            began = time.monotonic()
            assert served.end() == 0
            assert time.monotonic() - began < 10


def test_a_client_that_does_not_finish_is_closed(trained_once):
    with serving(f"--output_dir={trained_once[0]}", "--request_timeout=1") as served:
        beginnings = (b"", b"POST /predict HTT", b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n{")
        with contextlib.ExitStack() as stack:
            connections = []
            for sent in beginnings:
                connection = socket.create_connection(("127.0.0.1", served.port), timeout=10)
                connections.append(stack.enter_context(connection))
                connection.sendall(sent)
            for connection in connections:
                assert connection.recv(1000)[:12] in (b"", b"HTTP/1.1 408")
        assert served.post("/predict", {"text": "a dog"})[0] == 200


@pytest.mark.slow  # fast tests with two processes are in test_serve_operations.py
def test_two_processes_share_a_port(trained_once):
    with serving(f"--output_dir={trained_once[0]}", "--num_workers=2") as served:
        expected = Classifier.load(str(trained_once[0])).predict(TEXTS).best
        for _ in range(10):
            records = served.post("/predict", {"texts": TEXTS})[1]["predictions"]
            assert [record["label"] for record in records] == expected
        name = 'bert_requests_total{model="default",path="/predict",status="200"}'
        # A request is counted right after its response.
        wait_until(lambda: metric(served, name) == "10.0")
        assert {metric(served, name) for _ in range(8)} == {"10.0"}
        assert metric(served, "bert_waiting_texts") == "0.0"
        assert served.end() == 0


def test_a_new_checkpoint_replaces_the_old_one_under_load(trained, classify, trained_flags):
    """A damaged checkpoint is reported, and the old one stays in use."""
    flags = [flag for flag in trained_flags if not flag.startswith("--num_train_epochs")]
    with serving(f"--output_dir={trained}", "--watch", "--watch_seconds=1") as served:
        before = served.post("/predict", {"text": TEXTS[0]})[1]
        newest = max(trained.glob("model.ckpt-*.index"), key=lambda path: int(path.stem.rpartition("-")[2]))
        for checkpoint_file in trained.glob(f"{newest.stem}.*"):
            shutil.copy(checkpoint_file, trained / checkpoint_file.name.replace(newest.stem, "model.ckpt-900"))
        damaged = next(trained.glob("model.ckpt-900.data*"))
        damaged.write_bytes(damaged.read_bytes()[:-50])
        (trained / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-900"\n')
        while "ckpt-900" not in (line := served.read_line()):
            pass
        assert "cannot be used" in line
        assert served.post("/predict", {"text": TEXTS[0]})[1] == before
        for path in trained.glob("model.ckpt-900*"):
            path.unlink()
        (trained / "checkpoint").write_text(f'model_checkpoint_path: "{newest.stem}"\n')
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            responses = [pool.submit(served.post, "/predict", {"text": TEXTS[0]}) for _ in range(50)]
            phases = ("--nodo_eval", "--nodo_predict", "--noreport")
            done = classify(*flags, *phases, "--num_train_epochs=6", f"--output_dir={trained}")
            assert done.code == 0, done.err
            while "now serving" not in served.read_line():
                responses.append(pool.submit(served.post, "/predict", {"text": TEXTS[0]}))
            assert all(response.result()[0] == 200 for response in responses)
        after = served.post("/predict", {"text": TEXTS[0]})[1]
        assert after["probabilities"] != before["probabilities"]


@pytest.mark.parametrize(
    ("flags", "fragment"),
    [
        (["--model=a"], "--model=a: "),
        (["--model=a=x", "--model=a=y"], ""),
        (["--model=a/b=x"], "a name has letters"),
        (["--output_dir=x", "--model=default=y"], "--output_dir"),
        (["--model=a=x", "--ensemble=a=y,z"], "--ensemble=a=…: names two models"),
        (["--ensemble=a"], "--ensemble=a: NAME=DIRECTORY,DIRECTORY is needed"),
        (["--ensemble=a=,"], "--ensemble=a=,: names no directory"),
        (["--ensemble=a=x"], "--ensemble=a=x: is one run; give several directories"),
        (["--ensemble=a=x,x/"], "x would be averaged twice"),
        (["--ensemble=a=nowhere,x"], "nowhere: no checkpoint there"),
        (["--output_dir=nowhere"], "nowhere: no checkpoint there"),
        (["--output_dir=nowhere", "--api_key_file=none.txt"], "none.txt: "),
        (["--output_dir=nowhere", "--port=70000"], "--port=70000"),
        (["--model=a=x", "--pooling=c=cls"], "--pooling=c=cls: there is no model c; the names are a"),
    ],
)
def test_errors_at_the_start(flags, fragment, capfd):
    helpers.call(capfd, "bert-serve", serve.main, *flags).assert_refused(fragment)


def test_port_in_use(served, trained_once, capfd):
    flags = [f"--output_dir={trained_once[0]}", f"--port={served.port}"]
    helpers.call(capfd, "bert-serve", serve.main, *flags).assert_refused(
        f"--port={served.port}: cannot listen on 127.0.0.1"
    )


def test_no_request_reads_a_file(trained):
    """All responses, including vectors and pages, are the same without the model's directory."""
    with serving(f"--output_dir={trained}") as served:
        folder = trained.rename(trained.with_name("moved"))
        assert served.post("/predict", {"text": "a dog"})[0] == 200
        assert served.post("/explain", {"text": "a dog"})[0] == 200
        status, answer = served.post("/v1/embeddings", {"input": "a dog"})
        expected = FeatureExtractor.load(str(folder), normalize=True).extract(["a dog"])[0]
        assert status == 200
        np.testing.assert_allclose(answer["data"][0]["embedding"], expected, atol=1e-6)
        files = [os.readlink(path) for path in pathlib.Path(f"/proc/{served.process.pid}/fd").iterdir()]
        assert [name for name in files if str(trained.parent) in name] == []


def test_no_request_writes_a_file(served, trained_once):
    folder = pathlib.Path(trained_once[0])
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    served.post("/predict", {"text": "../../etc/passwd"})
    served.ask("GET", "/../../etc/passwd")
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


SCRIPTS = "--virtual-time-budget=8000"  # milliseconds for a page's scripts after it is loaded


@needs_browser
@pytest.mark.parametrize("scheme", [0, pytest.param(1, marks=pytest.mark.slow)], ids=["dark", "light"])
@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({"text": TEXTS[0], "run": "1"}, ['class="rail"', " %", "curl 'http", "urllib.request"]),
        (
            {"text": "<img src=x onerror=alert(1)> \u05e9\u05dc\u05d5\u05dd '", "explain": "1"},
            ["Which words mattered for"],
        ),
        ({"text": "Zora lives in Kelm .", "model": "tags", "run": "1"}, ["entities"]),
        (
            {"question": "who sees a dog ?", "context": "the cat sees a dog .", "model": "answers", "run": "1"},
            ['class="bar'],
        ),
        ({"lines": "a dog\na cat", "query": "the dog", "nearest": "1"}, ["the nearest first", "a cat"]),
    ],
)
def test_page_shows_predictions(served, tmp_path, query, shown, scheme):
    fragment = urllib.parse.urlencode(query, quote_via=urllib.parse.quote)
    flags = (f"--blink-settings=preferredColorScheme={scheme}", "--window-size=1280,900")
    document, log = browse(f"http://127.0.0.1:{served.port}/#{fragment}", tmp_path, SCRIPTS, *flags)
    assert 'data-state="done"' in document, document[-3000:]
    assert [text for text in shown if text not in document] == []
    assert "<img" not in document
    assert "CONSOLE" not in log


@needs_browser
def test_the_page_fits_a_phone(served, tmp_path):
    _, page, _ = served.ask("GET", "/")
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    (tmp_path / "look.html").write_text(
        '<iframe width="390" height="900" src="page.html"></iframe><script>'
        'const frame = document.querySelector("iframe"); frame.onload = () => document.title ='
        ' "wide " + frame.contentDocument.documentElement.scrollWidth;</script>'
    )
    document, _ = browse((tmp_path / "look.html").as_uri(), tmp_path, SCRIPTS, "--allow-file-access-from-files")
    assert int(re.search(r"<title>wide (\d+)</title>", document)[1]) <= 390


@needs_browser
def test_the_page_shows_an_error(served, tmp_path):
    query = urllib.parse.urlencode({"text": "x" * 60_000, "run": "1"})
    document, _ = browse(f"http://127.0.0.1:{served.port}/#{query}", tmp_path, SCRIPTS)
    assert 'data-state="failed"' in document
    assert "are allowed (--max_body_bytes)" in document


def test_server_needs_only_the_packages_of_bert_cli_light(trained_once, tmp_path):
    code = (
        "import sys; import bert_cli.serving.http.server; from bert_cli.serving.loading import load_served\n"
        "from bert_cli.serving.items import Item\n"
        "from bert_cli.settings.answering import ModelFlags\n"
        "from bert_cli.weights.path import find_checkpoint\n"
        f"model = load_served('a', ModelFlags(), find_checkpoint({str(trained_once[0])!r}))\n"
        "model.answer([Item('a dog')]); model.vectors.embed([Item('a dog')])\n"
        "explanation = model.plan_explanation(Item('a dog'), 100); explanation.score(explanation.copies)\n"
        "import bert_cli.serving.watching, bert_cli.serving.processes\n"
        "print('h5py' in sys.modules)"
    )
    done = run_light(make_light_environment(tmp_path / "site"), code, tmp_path)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr
