"""Waiting requests: their order, their cost in seconds, and the refusal of late ones.

The cost of an item is its number of tokens. A queue measures how many seconds a model needs per
token, and so knows how long the waiting requests take. Explanations and all other requests wait in
separate lanes, which get equal shares of the time while both have requests.
"""

import collections
import heapq
import math
import time
from collections.abc import Sequence

from bert_cli.serving.jobs import Chunk, Job, Speed
from bert_cli.serving.responses import RequestError

MAX_BATCH_ITEMS = 64
# A batch with one item may have more tokens.
MAX_BATCH_TOKENS = 8192
# A longer batch would delay small requests, and clients that have gone are dropped between batches.
_MAX_BATCH_SECONDS = 0.25
# A request's next item is due this many times later than the seconds that its items before it took.
# So the oldest request comes first, but small requests do not wait for all items of a large one.
_SPREAD = 4.0
# All items are due within this share of the time limit.
_SPREAD_SHARE = 0.7
# Estimates are uncertain: work that takes longer than the time limit divided by this is refused.
_MARGIN = 1.5


class _Lane:
    """Waiting jobs in order of arrival, and their tokens by model."""

    def __init__(self, speeds: dict[str, Speed], spread: float):
        self._speeds = speeds
        self._spread = spread
        self._tokens: collections.Counter[str] = collections.Counter()
        self.jobs: dict[Job, None] = {}

    def seconds(self) -> float:
        """Return the estimated seconds to compute all waiting items."""
        return sum(tokens * self._speeds[model].seconds_per_token for model, tokens in self._tokens.items())

    def add(self, job: Job) -> None:
        self.jobs[job] = None
        self._tokens[job.key.model] += job.tokens_left

    def take(self, job: Job, count: int) -> Chunk:
        """Move a job's next items out of the lane."""
        start, end = job.num_taken, job.num_taken + count
        tokens = job.tokens_left if count == job.num_left else sum(job.costs[start:end])
        job.num_taken = end
        job.num_left -= count
        job.tokens_taken += tokens
        job.tokens_left -= tokens
        self._tokens[job.key.model] -= tokens
        if not job.num_left:
            del self.jobs[job]
        return Chunk(job, start, end)

    def _pace(self, job: Job) -> float:
        """Return by how many seconds per token a job's next item is due later."""
        # Otherwise the last item of a long request would be due after its time limit.
        most = _SPREAD_SHARE * job.seconds / max(1, job.tokens_taken + job.tokens_left)
        return min(self._spread * self._speeds[job.key.model].seconds_per_token, most)

    def _due_time(self, job: Job) -> float:
        """Return the time at which a job's next item should be computed."""
        return job.arrival + job.tokens_taken * self._pace(job)

    def take_batch(self) -> list[Chunk]:
        """Return the items that are due first, all with one key; the lane must have jobs."""
        # Most batches have requests with one text, which are in order of arrival.
        are_small = all(job.num_left == 1 and not job.num_taken for job in self.jobs)
        key = (next(iter(self.jobs)) if are_small else min(self.jobs, key=self._due_time)).key
        max_tokens = min(MAX_BATCH_TOKENS, _MAX_BATCH_SECONDS / self._speeds[key.model].seconds_per_token)
        jobs = [job for job in self.jobs if job.key == key]
        if are_small:
            count = _count_until(max_tokens, [job.tokens_left for job in jobs[:MAX_BATCH_ITEMS]])
            return [self.take(job, 1) for job in jobs[:count]]
        # Numbers make equal times comparable.
        due = [(self._due_time(job), number, 0) for number, job in enumerate(jobs)]
        heapq.heapify(due)
        counts: dict[int, int] = {}
        num_items = num_tokens = 0
        while due and num_items < MAX_BATCH_ITEMS:
            due_time, number, count = due[0]
            job = jobs[number]
            tokens = job.costs[job.num_taken + count]
            if num_items and num_tokens + tokens > max_tokens:
                break
            num_items += 1
            num_tokens += tokens
            counts[number] = count + 1
            if count + 1 == job.num_left:
                heapq.heappop(due)
            else:
                heapq.heapreplace(due, (due_time + tokens * self._pace(job), number, count + 1))
        return [self.take(jobs[number], count) for number, count in counts.items()]


class JobQueue:
    """Queue of jobs in two lanes; its users hold a lock.

    Attributes:
        num_waiting: number of items that are not yet in a batch.
    """

    def __init__(self, max_items: int, seconds: float):
        """Create an empty queue.

        Args:
            max_items: number of waiting items; further jobs are refused.
            seconds: time limit of a request.
        """
        self._max_items = max_items
        self._limit = seconds / _MARGIN
        self._speeds: dict[str, Speed] = collections.defaultdict(Speed)
        # Explanations are so large that sharing the time among them would make all of them late.
        self._lanes = {False: _Lane(self._speeds, _SPREAD), True: _Lane(self._speeds, 0.0)}
        # Seconds that explanations had beyond other requests, while both were waiting.
        self._balance = 0.0
        self._batch_end = 0.0  # estimated end of the running batch
        self.num_waiting = 0

    def __bool__(self) -> bool:
        return self.num_waiting > 0

    def _both_wait(self) -> bool:
        return bool(self._lanes[False].jobs and self._lanes[True].jobs)

    def _seconds_until(self, own_seconds: float, is_explanation: bool) -> float:
        """Return the estimated seconds until a new job would be complete, after the running batch."""
        seconds = self._lanes[is_explanation].seconds() + own_seconds
        other_seconds = self._lanes[not is_explanation].seconds()
        # Predictions of texts accepted before must not be late because of an explanation.
        return seconds + (other_seconds if is_explanation else min(seconds, other_seconds))

    def refuse_late(self, own_seconds: float = 0.0, num_items: int = 1, is_explanation: bool = False) -> None:
        """Raise RequestError 429 if a request would not be answered in time.

        A request is accepted if no other is waiting, however large it is.

        Args:
            own_seconds: estimated time for the request's items.
            num_items: number of its items.
            is_explanation: whether it waits in the lane for explanations.
        """
        if not self.num_waiting:
            return
        running = max(0.0, self._batch_end - time.monotonic())
        seconds = running + self._seconds_until(own_seconds, is_explanation)
        if seconds <= self._limit and self.num_waiting + num_items <= self._max_items:
            return
        raise _too_many(self.num_waiting, seconds - own_seconds)

    def add(self, job: Job) -> None:
        """Add a job; raise RequestError 429 if it would not be answered in time."""
        own_seconds = job.tokens_left * self._speeds[job.key.model].seconds_per_token
        self.refuse_late(own_seconds, len(job.items), job.is_explanation)
        self._lanes[job.is_explanation].add(job)
        self.num_waiting += len(job.items)

    def remove(self, job: Job) -> None:
        """Remove a job's remaining items."""
        if job.num_left:
            self.num_waiting -= job.num_left
            self._lanes[job.is_explanation].take(job, job.num_left)

    def take_batch(self) -> list[Chunk]:
        """Return the next batch; it is empty if no job is waiting."""
        if not self.num_waiting:
            return []
        if not self._both_wait():
            self._balance = 0.0
        is_explanation = self._balance < 0 if self._both_wait() else bool(self._lanes[True].jobs)
        batch = self._lanes[is_explanation].take_batch()
        self.num_waiting -= sum(chunk.end - chunk.start for chunk in batch)
        seconds = _tokens(batch) * self._speeds[batch[0].job.key.model].seconds_per_token
        self._batch_end = time.monotonic() + seconds
        return batch

    def note_end(self, batch: Sequence[Chunk], seconds: float) -> None:
        """Measure a computed batch.

        Args:
            seconds: time to compute it.
        """
        job = batch[0].job
        self._speeds[job.key.model].add(_tokens(batch), seconds)
        if self._both_wait():
            self._balance += seconds if job.is_explanation else -seconds
        self._batch_end = 0.0

    @property
    def explanation_seconds(self) -> float:
        """Return the estimated seconds to compute all explanations that wait."""
        return self._lanes[True].seconds()

    def forget_speed(self, model: str) -> None:
        """Forget a model's speed, because another checkpoint answers."""
        self._speeds[model] = Speed()

    def remove_late(self) -> list[Job]:
        """Remove jobs that cannot be answered in time, and return them with their errors.

        An estimate at the arrival may have been too low, for example before the first batch.
        """
        late: list[Job] = []
        # A single request waits for no other.
        if len(self._lanes[False].jobs) + len(self._lanes[True].jobs) < 2:
            return late
        now = time.monotonic()
        for is_explanation, lane in self._lanes.items():
            # Look at each job only if some may be late: this takes time when there are thousands.
            if self._seconds_until(0.0, is_explanation) <= self._limit:
                continue
            other_seconds = self._lanes[not is_explanation].seconds()
            seconds = 0.0
            for job in list(lane.jobs):
                own_seconds = job.tokens_left * self._speeds[job.key.model].seconds_per_token
                end = seconds + own_seconds + min(seconds + own_seconds, other_seconds)
                if now + end <= job.deadline:
                    seconds += own_seconds
                    continue
                job.error = _too_many(self.num_waiting, seconds)
                if own_seconds > job.seconds:
                    message = f"this request takes about {own_seconds:.0f} s here, and {job.seconds:g} s are allowed"
                    job.error = RequestError(413, f"{message} (--request_timeout); send fewer or shorter texts")
                self.remove(job)
                late.append(job)
        return late


def _count_until(max_tokens: float, costs: Sequence[int]) -> int:
    """Return how many items fit into a batch, at least one."""
    total = 0
    for count, cost in enumerate(costs):
        total += cost
        if count and total > max_tokens:
            return count
    return len(costs)


def _tokens(batch: Sequence[Chunk]) -> int:
    return sum(sum(job.costs[start:end]) if start or end > 1 else job.costs[0] for job, start, end in batch)


def _too_many(num_waiting: int, seconds: float) -> RequestError:
    """Return the error for a request that would be late.

    Args:
        num_waiting: number of waiting texts.
        seconds: time to compute them.
    """
    time_needed = f", for about {seconds:.0f} s" if seconds >= 1 else ""
    message = f"{num_waiting} texts wait already{time_needed}; try again later"
    # After half the time, there is room for other requests, but the queue is not empty.
    return RequestError(429, message, max(1, math.ceil(seconds / 2)))
