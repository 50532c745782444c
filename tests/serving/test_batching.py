"""The thread that computes batches: results, isolation of errors, and requests that end early."""

import asyncio
import threading

import pytest

from bert_cli.base.errors import InputError
from bert_cli.serving.access import begin_request, note_client_left
from bert_cli.serving.batching import Batcher
from bert_cli.serving.items import Item
from bert_cli.serving.jobs import BatchKey
from bert_cli.serving.responses import RequestError
from bert_cli.serving.schedule import MAX_BATCH_ITEMS

KEY = BatchKey("predict", "a")
SECONDS = 30


def items(text, count):
    return [Item(f"{text}{number}") for number in range(count)]


async def submit(batcher, batch_items, key=KEY):
    return await batcher.submit(key, batch_items, [3] * len(batch_items), SECONDS)


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
        task = asyncio.create_task(submit(batcher, items("first", 1)))
        assert await asyncio.to_thread(self.has_begun.wait, 20)
        return task


@pytest.fixture
def computing():
    return SlowComputation()


def run(computing, requests, max_queue=10_000):
    """Return the results or errors of requests that arrive while another one is computed."""

    async def run_requests():
        batcher = Batcher(computing, max_queue, SECONDS)
        try:
            tasks = [await computing.begin(batcher)]
            for request in requests:
                tasks.append(asyncio.create_task(submit(batcher, request)))
                await asyncio.sleep(0)
            computing.may_go.set()
            return (await asyncio.gather(*tasks, return_exceptions=True))[1:]
        finally:
            computing.may_go.set()
            batcher.close()

    return asyncio.run(run_requests())


def test_requests_that_wait_are_computed_together(computing):
    requests = [items(name, 2) for name in "abc"]
    assert run(computing, requests) == [[f"{name}0", f"{name}1"] for name in "abc"]
    assert [len(texts) for _, texts in computing.batches] == [1, 6]


def test_a_large_request_does_not_hold_up_a_small_one(computing):
    large, small = run(computing, [items("large", 1000), items("small", 1)])
    assert large == [f"large{number}" for number in range(1000)]
    assert small == ["small0"]
    assert "small0" in computing.batches[1][1]
    assert max(len(texts) for _, texts in computing.batches) <= MAX_BATCH_ITEMS


def test_an_error_affects_only_its_request(computing, caplog):
    good, bad, bug = run(computing, [items(name, 2) for name in ("good", "bad", "bug")])
    assert good == ["good0", "good1"]
    assert (bad.status, bad.message) == (400, "a bad text")
    assert bug.status == 500
    assert "bug" not in bug.message


def test_a_full_queue_refuses(computing):
    first, second = run(computing, [items("a", 8), items("b", 3)], max_queue=10)
    assert len(first) == 8
    assert (second.status, second.retry_after) == (429, 1)
    assert run(SlowComputation(), [items("larger", 30)], max_queue=10)[0][-1] == "larger29"


def test_an_abandoned_request_is_not_computed(computing):
    async def run_requests():
        batcher = Batcher(computing, 100, SECONDS)
        try:
            first = await computing.begin(batcher)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await submit(batcher, items("late", 3))
            computing.may_go.set()
            await first
            assert await submit(batcher, items("next", 1)) == ["next0"]
            assert batcher.waiting == 0
        finally:
            computing.may_go.set()
            batcher.close()

    asyncio.run(run_requests())
    assert [texts for _, texts in computing.batches] == [["first0"], ["next0"]]


def test_a_request_without_a_client_is_not_computed(computing):
    async def run_requests():
        batcher = Batcher(computing, 1000, SECONDS)
        scopes = [{"headers": []} for _ in range(3)]

        async def ask(scope, name):
            begin_request(scope)
            return await submit(batcher, items(name, 200))

        try:
            first = await computing.begin(batcher)
            waiting = [asyncio.create_task(ask(scope, name)) for scope, name in zip(scopes, "abc", strict=True)]
            await asyncio.sleep(0)
            note_client_left(scopes[1])
            assert len((await asyncio.wait(waiting, timeout=5, return_when=asyncio.FIRST_COMPLETED))[0]) == 1
            assert batcher.waiting == 400
            computing.may_go.set()
            results = await asyncio.gather(first, *waiting, return_exceptions=True)
        finally:
            computing.may_go.set()
            batcher.close()
        return results

    results = asyncio.run(run_requests())
    assert [type(result) for result in results] == [list, list, ConnectionAbortedError, list]
    assert "b0" not in str(computing.batches)


def test_a_client_may_leave_before_its_request_waits(computing):
    async def run_requests():
        batcher = Batcher(computing, 100, SECONDS)
        scope = {"headers": []}
        begin_request(scope)
        note_client_left(scope)
        try:
            with pytest.raises(ConnectionAbortedError):
                await submit(batcher, items("late", 1))
        finally:
            computing.may_go.set()
            batcher.close()

    asyncio.run(run_requests())


def test_an_abandoned_request_leaves_the_queue_immediately(computing):
    async def run_requests():
        batcher = Batcher(computing, 10, SECONDS)
        try:
            first = await computing.begin(batcher)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await submit(batcher, items("late", 10))
            assert batcher.waiting == 0
            second = asyncio.create_task(submit(batcher, items("next", 1)))
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
        batcher = Batcher(computing, 10, SECONDS)
        first = await computing.begin(batcher)
        assert not batcher.close(0.01)
        computing.may_go.set()
        assert batcher.close(20)
        assert await first == ["first0"]

    asyncio.run(run_requests())


def test_no_batch_without_items(computing):
    assert run(computing, [[]]) == [[]]


def test_an_error_has_status_and_message():
    with pytest.raises(RequestError) as caught:
        raise RequestError(413, "too large")
    assert (caught.value.status, str(caught.value)) == (413, "too large")
