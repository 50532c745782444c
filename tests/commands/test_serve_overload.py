"""bert-serve with more work than it can do: requests that would be late, clients that leave, and explanations."""

import collections
import concurrent.futures
import contextlib
import http.client
import json
import time

import pytest

from tests.commands.test_serve import Served, metric, serving
from tests.waiting import wait_until

LONG = "the old dog sees a cat . " * 6
BATCH = {"texts": [LONG] * 4000}
NUM_CLIENTS = 48


@pytest.fixture(scope="module")
def served(trained_once):
    flags = (
        "--request_timeout=1",
        "--max_texts=4000",
        "--max_queue=1000000",
        "--max_explain_words=25",
        "--max_explanations=300",
    )
    with serving(f"--output_dir={trained_once[0]}", *flags) as server:
        yield server


def waiting_texts(served: Served) -> float:
    return float(metric(served, "bert_waiting_texts"))


def count_of(served: Served, path: str, status: int) -> float:
    """Return how many requests had a status."""
    name = f'bert_requests_total{{model="default",path="{path}",status="{status}"}}'
    lines = dict(line.rsplit(" ", 1) for line in served.ask("GET", "/metrics")[1].splitlines() if line[:1] != "#")
    return float(lines.get(name, 0))


@contextlib.contextmanager
def asking(served: Served, path: str, body: dict):
    """Send a request, and close its connection at the end of the block."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)) as connection:
        connection.request("POST", path, json.dumps(body))
        yield connection


def test_a_client_that_leaves_leaves_the_queue(served):
    before = count_of(served, "/predict", 499)
    with asking(served, "/predict", BATCH):
        wait_until(lambda: waiting_texts(served) > 0)
    start_time = time.monotonic()
    wait_until(lambda: waiting_texts(served) == 0)
    wait_until(lambda: count_of(served, "/predict", 499) == before + 1)
    assert time.monotonic() - start_time < 1
    assert served.post("/predict", {"text": "a dog"})[0] == 200


def test_explanations_of_clients_that_leave_are_not_computed(served):
    text = " ".join(LONG.split()[:25])
    with contextlib.ExitStack() as stack:
        for _ in range(400):
            stack.enter_context(asking(served, "/explain", {"text": text}))
        wait_until(lambda: count_of(served, "/explain", 429) >= 10, lambda: served.ask("GET", "/metrics")[1], 10)
        start_time = time.monotonic()
        assert served.post("/predict", {"text": "a dog"})[0] == 200
        assert time.monotonic() - start_time < 1
        assert waiting_texts(served) > 100
    start_time = time.monotonic()
    wait_until(lambda: waiting_texts(served) == 0)
    assert time.monotonic() - start_time < 1
    wait_until(lambda: count_of(served, "/explain", 499) >= 20, seconds=10)
    assert served.post("/explain", {"text": "a dog"})[0] == 200


def test_an_overloaded_server_answers_what_it_can(served):
    """Requests are answered within the time limit or refused at once; none is computed for nothing."""

    def ask(_: int) -> tuple[int, float, str | None]:
        start_time = time.monotonic()
        status, _, headers = served.ask("POST", "/predict", {"texts": [LONG] * 1000})
        return status, time.monotonic() - start_time, headers["retry-after"]

    # The server has to know its speed.
    served.post("/predict", {"texts": [LONG] * 100})

    with concurrent.futures.ThreadPoolExecutor(NUM_CLIENTS) as pool:
        answers = list(pool.map(ask, range(NUM_CLIENTS)))
    counts = collections.Counter(status for status, _, _ in answers)

    assert counts[200] >= 2
    assert counts[429] >= 5
    assert counts[504] <= 2
    assert {retry_after for status, _, retry_after in answers if status == 429} <= {"1", "2"}


def test_explanations_have_limits(served, trained_once):
    status, answer = served.post("/explain", {"text": LONG})
    assert (status, "--max_explain_words" in answer["error"]["message"]) == (413, True)
    with serving(f"--output_dir={trained_once[0]}", "--explain=false") as other:
        status, answer = other.post("/explain", {"text": "a dog"})
        assert (status, "--explain=false" in answer["error"]["message"]) == (403, True)
        assert other.ask("GET", "/v1/models")[1]["data"][0]["explains"] is False
