"""Request queue, and the thread that computes items from several requests in one batch.

A request never waits for a timer: an idle thread takes all items that are in the queue. While it
computes, the next batch grows. A batch takes a few items from each request, so that a large request
does not delay small ones.
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
from bert_cli.serving.access import current_request_id
from bert_cli.serving.responses import RequestError
from bert_cli.serving.served_model import Item

MAX_BATCH_ITEMS = 64
# A batch with one item may have more characters.
MAX_BATCH_CHARACTERS = 32_768
# Seconds that a refused client should wait.
_RETRY_AFTER = 1


@dataclasses.dataclass(eq=False)
class Job:
    """A request's items and results.

    Attributes:
        key: only jobs with equal keys share a batch.
        items: items in their order in the request.
        future: receives all results, or a RequestError.
        num_taken: number of items that are already in a batch.
        results: results of the first items; complete when there is one per item.
        error: exception from the computation, or None.
        request_id: the request's id for the log, or "".
    """

    key: Hashable
    items: Sequence[Item]
    future: "asyncio.Future[list[Any]]"
    num_taken: int = 0
    results: list[Any] = dataclasses.field(default_factory=list)
    error: Exception | None = None
    request_id: str = dataclasses.field(default_factory=current_request_id)


class Batcher:
    """Queue of jobs with one thread that computes batches."""

    def __init__(self, compute: Callable[[Any, list[Item]], list[Any]], max_queue: int):
        """Start the thread.

        Args:
            compute: compute(key, items) returns one result per item. The client sees the message
                if this raises RequestError or InputError, but not if it raises other exceptions.
            max_queue: number of waiting items; further requests are refused.
        """
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
        """Return the number of items that are not yet in a batch."""
        return self._waiting

    async def submit(self, key: Hashable, items: Sequence[Item]) -> list[Any]:
        """Return one result per item.

        Raises:
            RequestError: 429 if too many items are waiting, or the error from the computation.
        """
        if not items:
            return []
        loop = asyncio.get_running_loop()
        job = Job(key, items, loop.create_future())
        with self._changed:
            # Accept a request that is larger than the queue if no other is waiting.
            if self._waiting and self._waiting + len(items) > self._max_queue:
                raise RequestError(429, f"{self._waiting} texts wait already; try again later", _RETRY_AFTER)
            self._jobs.append(job)
            self._waiting += len(items)
            self._changed.notify()
        try:
            return await job.future
        finally:
            # Stop computing if the client has disconnected or the time limit has passed.
            self._drop(job)

    def close(self, seconds: float | None = None) -> bool:
        """Stop the thread after its current batch; return False if that takes over `seconds`."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _drop(self, job: Job) -> None:
        """Remove a job's remaining items from the queue."""
        with self._changed:
            if job.num_taken < len(job.items):
                self._jobs.remove(job)
                self._waiting -= len(job.items) - job.num_taken
                job.num_taken = len(job.items)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._jobs and not self._is_closed:
                    self._changed.wait()
                if self._is_closed:
                    return
                batch = self._take_batch()
            self._deliver(self._compute_batch(batch))

    def _take_batch(self) -> list[tuple[Job, int, int]]:
        """Return the next batch as (job, index of the first item, end index).

        All jobs have the key of the oldest one.
        """
        key = self._jobs[0].key
        jobs = [job for job in self._jobs if job.key == key][:MAX_BATCH_ITEMS]
        items_per_job = max(1, MAX_BATCH_ITEMS // len(jobs))
        batch: list[tuple[Job, int, int]] = []
        characters = 0
        for job in jobs:
            end = job.num_taken
            while end < min(len(job.items), job.num_taken + items_per_job):
                characters += job.items[end].characters
                if characters > MAX_BATCH_CHARACTERS and (batch or end > job.num_taken):
                    break
                end += 1
            if end > job.num_taken:
                batch.append((job, job.num_taken, end))
                self._waiting -= end - job.num_taken
                job.num_taken = end
            if job.num_taken == len(job.items):
                self._jobs.remove(job)
            if characters > MAX_BATCH_CHARACTERS:
                break
        # Put the remaining items of a large request after the other requests.
        if self._jobs and batch and self._jobs[0] is batch[0][0]:
            self._jobs.rotate(-1)
        return batch

    def _compute_batch(self, batch: list[tuple[Job, int, int]]) -> list[Job]:
        """Compute a batch and return the finished jobs, with results or an error."""
        key = batch[0][0].key
        try:
            results = self._compute(key, [item for job, start, end in batch for item in job.items[start:end]])
        except Exception as error:
            if len(batch) > 1:
                # Compute each request separately, because one of them may cause the error.
                return [job for chunk in batch for job in self._compute_batch([chunk])]
            job = batch[0][0]
            job.error = error
            self._drop(job)
            return [job]
        position = 0
        for job, start, end in batch:
            job.results += results[position : position + end - start]
            position += end - start
        return [job for job, _, _ in batch if len(job.results) == len(job.items)]

    def _deliver(self, jobs: list[Job]) -> None:
        if jobs:
            # Ignore a closed event loop: nobody waits for its jobs.
            with contextlib.suppress(RuntimeError):
                jobs[0].future.get_loop().call_soon_threadsafe(_settle, jobs)


def _settle(jobs: list[Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue
        if job.error is None:
            job.future.set_result(job.results)
        else:
            job.future.set_exception(_as_request_error(job.error, job.request_id))


def _as_request_error(error: Exception, request_id: str) -> RequestError:
    if isinstance(error, RequestError):
        return error
    if isinstance(error, InputError):
        return RequestError(400, str(error))
    if isinstance(error, MemoryError):
        return RequestError(503, "out of memory; send fewer or shorter texts", _RETRY_AFTER)
    fields = {"fields": {"request_id": request_id}}
    LOG.error("error: a batch failed: %s: %s", type(error).__name__, error, extra=fields)
    return RequestError(500, "the model could not compute this request")
