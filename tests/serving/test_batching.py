"""The request queue: batches, fairness, limits, and isolation of errors."""

import asyncio
import threading

import pytest

from bert_cli.base.errors import InputError
from bert_cli.serving.batching import MAX_BATCH_CHARACTERS, MAX_BATCH_ITEMS, Batcher
from bert_cli.serving.responses import RequestError
from bert_cli.serving.served_model import Item


def items(text, count):
    return [Item(f"{text}{number}") for number in range(count)]


class SlowComputation:
    """Return each item's text; the first batch waits for the event `may_go`."""

    def __init__(self):
        self.batches = []
        self.has_begun, self.may_go = threading.Event(), threading.Event()

    def __call__(self, key, items):
        self.batches.append((key, [item.first for item in items]))
        self.has_begun.set()
        assert self.may_go.wait(20)
        if any(item.first.startswith("bad") for item in items):
            raise InputError("a bad text")
        if any(item.first.startswith("bug") for item in items):
            raise KeyError("bug")
        return [item.first for item in items]

    async def begin(self, batcher):
        """Submit a request, and return its task when its computation has begun."""
        task = asyncio.create_task(batcher.submit("key", items("first", 1)))
        assert await asyncio.to_thread(self.has_begun.wait, 20)
        return task


@pytest.fixture
def computing():
    return SlowComputation()


def run(computing, requests, max_queue=10_000):
    """Return the results or errors of requests that arrive while another one is computed."""

    async def run_requests():
        batcher = Batcher(computing, max_queue)
        try:
            tasks = [await computing.begin(batcher)]
            for request in requests:
                tasks.append(asyncio.create_task(batcher.submit(*request)))
                await asyncio.sleep(0)
            computing.may_go.set()
            return (await asyncio.gather(*tasks, return_exceptions=True))[1:]
        finally:
            computing.may_go.set()
            batcher.close()

    return asyncio.run(run_requests())


def test_requests_that_wait_are_computed_together(computing):
    requests = [("key", items(name, 2)) for name in "abc"]
    assert run(computing, requests) == [[f"{name}0", f"{name}1"] for name in "abc"]
    assert [len(texts) for _, texts in computing.batches] == [1, 6]


def test_keys_are_not_mixed(computing):
    run(computing, [("one", items("a", 1)), ("two", items("b", 1)), ("one", items("c", 1))])
    assert computing.batches[1:] == [("one", ["a0", "c0"]), ("two", ["b0"])]


def test_a_large_request_does_not_hold_up_a_small_one(computing):
    large, small = run(computing, [("key", items("large", 1000)), ("key", items("small", 1))])
    assert large == [f"large{number}" for number in range(1000)]
    assert small == ["small0"]
    assert "small0" in computing.batches[1][1]
    assert max(len(texts) for _, texts in computing.batches) <= MAX_BATCH_ITEMS


def test_long_texts_are_computed_alone(computing):
    long = [Item("x" * MAX_BATCH_CHARACTERS), Item("y" * (MAX_BATCH_CHARACTERS + 1))]
    assert len(run(computing, [("key", long)])[0]) == 2
    assert [len(texts) for _, texts in computing.batches] == [1, 1, 1]


def test_an_error_affects_only_its_request(computing, caplog):
    good, bad, bug = run(computing, [("key", items(name, 2)) for name in ("good", "bad", "bug")])
    assert good == ["good0", "good1"]
    assert (bad.status, bad.message) == (400, "a bad text")
    assert bug.status == 500
    assert "bug" not in bug.message


def test_a_full_queue_refuses(computing):
    first, second = run(computing, [("key", items("a", 8)), ("key", items("b", 3))], max_queue=10)
    assert len(first) == 8
    assert (second.status, second.retry_after) == (429, 1)
    assert run(SlowComputation(), [("key", items("larger", 30))], max_queue=10)[0][-1] == "larger29"


def test_an_abandoned_request_is_not_computed(computing):
    async def run_requests():
        batcher = Batcher(computing, 100)
        try:
            first = await computing.begin(batcher)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await batcher.submit("key", items("late", 3))
            computing.may_go.set()
            await first
            assert await batcher.submit("key", items("next", 1)) == ["next0"]
            assert batcher.waiting == 0
        finally:
            computing.may_go.set()
            batcher.close()

    asyncio.run(run_requests())
    assert [texts for _, texts in computing.batches] == [["first0"], ["next0"]]


def test_an_abandoned_request_leaves_the_queue_immediately(computing):
    async def run_requests():
        batcher = Batcher(computing, 10)
        try:
            first = await computing.begin(batcher)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await batcher.submit("key", items("late", 10))
            assert batcher.waiting == 0
            second = asyncio.create_task(batcher.submit("key", items("next", 1)))
            await asyncio.sleep(0)
            computing.may_go.set()
            assert await second == ["next0"]
            await first
        finally:
            computing.may_go.set()
            batcher.close()

    asyncio.run(run_requests())


def test_close_does_not_wait_longer_than_asked(computing):
    async def run_requests():
        batcher = Batcher(computing, 10)
        first = await computing.begin(batcher)
        assert not batcher.close(0.01)
        computing.may_go.set()
        assert batcher.close(20)
        assert await first == ["first0"]

    asyncio.run(run_requests())


def test_no_batch_without_items(computing):
    assert run(computing, [("key", [])]) == [[]]


def test_an_error_has_status_and_message():
    with pytest.raises(RequestError) as caught:
        raise RequestError(413, "too large")
    assert (caught.value.status, str(caught.value)) == (413, "too large")
