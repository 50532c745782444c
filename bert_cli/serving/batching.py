"""The thread that computes items from several requests in one batch.

A request never waits for a timer: an idle thread takes all items that are in the queue. While it
computes, the next batch grows. bert_cli.serving.schedule decides their order.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.serving.access import current_request_id, current_span, fail_if_client_leaves
from bert_cli.serving.jobs import BatchKey, Chunk, Compute, Job
from bert_cli.serving.responses import RequestError
from bert_cli.serving.schedule import JobQueue

# Seconds that a client should wait when memory is short.
_RETRY_AFTER = 1


class Batcher:
    """Queue of jobs with one thread that computes batches."""

    def __init__(
        self,
        compute: Compute,
        max_queue: int,
        request_timeout: float,
        count_waits: Callable[[str, Sequence[float]], None] | None = None,
    ):
        """Start the thread.

        Args:
            compute: compute(key, items) returns one result per item. The client sees the message
                if this raises RequestError or InputError, but not if it raises other exceptions.
            max_queue: number of waiting items; further requests are refused.
            request_timeout: a request's time limit in seconds.
            count_waits: called with a model's name and the seconds from the arrivals of requests to
                their first batch.
        """
        self._compute = compute
        self._count_waits = count_waits
        self._schedule = JobQueue(max_queue, request_timeout)
        self._changed = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="batches", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Return the number of items that are not yet in a batch."""
        return self._schedule.num_waiting

    @property
    def explanation_seconds(self) -> float:
        """Return the estimated seconds to compute all explanations that wait."""
        with self._changed:
            return self._schedule.explanation_seconds

    def refuse_late(self) -> None:
        """Raise RequestError 429 if a small request would not be answered in time."""
        # An idle server need not look at the clock, nor wait for the lock.
        if self._schedule:
            with self._changed:
                self._schedule.refuse_late()

    def forget_speed(self, model: str) -> None:
        """Forget a model's speed, because another checkpoint answers."""
        with self._changed:
            self._schedule.forget_speed(model)

    async def submit(
        self, key: BatchKey, items: Sequence[Any], costs: Sequence[int], seconds: float, is_explanation: bool = False
    ) -> list[Any]:
        """Return one result per item.

        Args:
            key: only items with equal keys share a batch.
            costs: each item's number of tokens, exact or estimated.
            seconds: time limit; the caller stops waiting then.
            is_explanation: whether the items are masked copies of one text.

        Raises:
            RequestError: 429 if the items would not be computed in time, or the error from the
                computation.
            ConnectionAbortedError: if the client has gone.
        """
        if not items:
            return []
        loop = asyncio.get_running_loop()
        job = Job(key, items, costs, loop.create_future(), seconds, is_explanation, current_request_id())
        with self._changed:
            self._schedule.add(job)
            self._changed.notify()
        try:
            fail_if_client_leaves(job.future)
            return await job.future
        finally:
            if span := current_span():
                span.phases += job.phases()
            # Stop computing if the client has gone or the time limit has passed.
            if job.num_left:
                with self._changed:
                    self._schedule.remove(job)

    def close(self, seconds: float | None = None) -> bool:
        """Stop the thread after its current batch; return False if that takes over `seconds`."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        last_end = 0.0
        while True:
            with self._changed:
                if not self._schedule:
                    while not self._schedule and not self._is_closed:
                        self._changed.wait()
                    last_end = time.monotonic()
                if self._is_closed:
                    return
                late = self._schedule.remove_late()
                batch = self._schedule.take_batch()
            start_time = time.monotonic()
            new_jobs = [job for job, start, _ in batch if not start]
            for job in new_jobs:
                job.first_batch = start_time
            done = self._compute_batch(batch) if batch else []
            end_time = time.monotonic()
            if batch:
                with self._changed:
                    # Include the time since the last batch, because other threads used Python then.
                    self._schedule.note_end(batch, end_time - last_end)
            last_end = end_time
            for job in done:
                job.last_batch_end = end_time
            self._deliver(done + late)
            if self._count_waits and batch:
                self._count_waits(batch[0].job.key.model, [start_time - job.arrival for job in new_jobs])

    def _compute_batch(self, batch: list[Chunk]) -> list[Job]:
        """Compute a batch and return the finished jobs, with results or an error."""
        key = batch[0].job.key
        try:
            results = self._compute(key, [item for job, start, end in batch for item in job.items[start:end]])
        except Exception as error:
            if len(batch) > 1:
                # Compute each request separately, because one of them may cause the error.
                return [job for chunk in batch for job in self._compute_batch([chunk])]
            job = batch[0].job
            job.error = error
            with self._changed:
                self._schedule.remove(job)
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
