"""The queue of a server: texts of all requests wait here, and one thread computes them in batches.

A single request never waits for a timer: an idle thread takes what is there. While it computes, the
next batch grows. Batches take some texts of each request in turn, so a large request does not hold
up small ones.
"""

import asyncio
import collections
import contextlib
import dataclasses
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.serving.errors import RequestError
from bert_cli.serving.served_model import Item

MOST_ITEMS = 64  # of a batch
MOST_CHARACTERS = 32_768  # of a batch of several items
_RETRY_AFTER = 1  # seconds


@dataclasses.dataclass(eq=False)
class Job:
    """A request's items. key: items of one key can be computed together. results: by item, None for
    items still to do; failed: why there are none.
    """

    key: Hashable
    items: Sequence[Item]
    future: "asyncio.Future[list[Any]]"
    taken: int = 0
    results: list[Any] = dataclasses.field(default_factory=list)
    failed: Exception | None = None


class Batcher:
    """One thread that computes. compute(key, items): the results of some items, in their order;
    RequestError and InputError are the client's, anything else is ours.
    """

    def __init__(self, compute: Callable[[Any, list[Item]], list[Any]], max_queue: int):
        self._compute = compute
        self._max_queue = max_queue
        self._jobs: collections.deque[Job] = collections.deque()
        self._changed = threading.Condition()
        self._waiting = 0
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="batches", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Items that are not yet in a batch."""
        return self._waiting

    async def submit(self, key: Hashable, items: Sequence[Item]) -> list[Any]:
        """The results of the items, in their order. RequestError 429 where too many wait."""
        if not items:
            return []
        loop = asyncio.get_running_loop()
        job = Job(key, items, loop.create_future())
        with self._changed:
            # A request that is larger than the queue is taken where nothing waits.
            if self._waiting and self._waiting + len(items) > self._max_queue:
                raise RequestError(429, f"{self._waiting} texts wait already; try again later", _RETRY_AFTER)
            self._jobs.append(job)
            self._waiting += len(items)
            self._changed.notify()
        try:
            return await job.future
        finally:
            self._drop(job)  # where the client has gone, or the time is over, nothing more is computed

    def close(self, seconds: float | None = None) -> bool:
        """Ends the thread after the batch that it computes; whether that was within this time."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _drop(self, job: Job) -> None:
        """Take the rest of a job out of the queue."""
        with self._changed:
            if job.taken < len(job.items):
                self._jobs.remove(job)
                self._waiting -= len(job.items) - job.taken
                job.taken = len(job.items)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._jobs and not self._is_closed:
                    self._changed.wait()
                if self._is_closed:
                    return
                batch = self._take()
            self._deliver(self._computed(batch))

    def _take(self) -> list[tuple[Job, int, int]]:
        """(job, first item, end) of the next batch, all of the oldest job's key."""
        key = self._jobs[0].key
        jobs = [job for job in self._jobs if job.key == key][:MOST_ITEMS]
        each = max(1, MOST_ITEMS // len(jobs))
        batch: list[tuple[Job, int, int]] = []
        characters = 0
        for job in jobs:
            end = job.taken
            while end < min(len(job.items), job.taken + each):
                characters += job.items[end].characters
                if characters > MOST_CHARACTERS and (batch or end > job.taken):
                    break
                end += 1
            if end > job.taken:
                batch.append((job, job.taken, end))
                self._waiting -= end - job.taken
                job.taken = end
            if job.taken == len(job.items):
                self._jobs.remove(job)
            if characters > MOST_CHARACTERS:
                break
        # What is left of a large request comes after the others.
        if self._jobs and batch and self._jobs[0] is batch[0][0]:
            self._jobs.rotate(-1)
        return batch

    def _computed(self, batch: list[tuple[Job, int, int]]) -> list[Job]:
        """The jobs that are finished, with results or their error."""
        key = batch[0][0].key
        try:
            results = self._compute(key, [item for job, start, end in batch for item in job.items[start:end]])
        except Exception as error:
            if len(batch) > 1:
                # One request may have made the batch fail: each is computed by itself.
                return [job for part in batch for job in self._computed([part])]
            job = batch[0][0]
            job.failed = error
            self._drop(job)
            return [job]
        place = 0
        for job, start, end in batch:
            job.results += results[place : place + end - start]
            place += end - start
        return [job for job, _, _ in batch if len(job.results) == len(job.items)]

    def _deliver(self, jobs: list[Job]) -> None:
        if jobs:
            # A loop that was closed has no one waiting.
            with contextlib.suppress(RuntimeError):
                jobs[0].future.get_loop().call_soon_threadsafe(_settle, jobs)


def _settle(jobs: list[Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue
        if job.failed is None:
            job.future.set_result(job.results)
        else:
            job.future.set_exception(_as_request_error(job.failed))


def _as_request_error(error: Exception) -> RequestError:
    if isinstance(error, RequestError):
        return error
    if isinstance(error, InputError):
        return RequestError(400, str(error))
    if isinstance(error, MemoryError):
        return RequestError(503, "out of memory; send fewer or shorter texts", _RETRY_AFTER)
    LOG.error("error: a batch failed: %s: %s", type(error).__name__, error)
    return RequestError(500, "the model could not compute this request")
