"""Waiting work: a request's items, and how many seconds a model needs per token."""

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bert_cli.runtime.spans import Phase

# Batches with this many tokens are nearly as fast per token as larger ones. Before the first of
# them, the speed of small batches limits the estimate: one text of 22 tokens takes 2.7 times as
# long per token as 64 texts, and 16 texts 1.2 times (two cores, the built-in model).
_LARGE_BATCH_TOKENS = 512
_SMALL_BATCH_FACTOR = 4
# Weight of a new measurement in the mean.
_NEW_WEIGHT = 0.2
# Seconds per token before the first batch; only the order depends on it.
_UNMEASURED = 1e-5


class BatchKey(NamedTuple):
    """An operation of a model; only requests with equal keys share a batch.

    Attributes:
        operation: name of the operation.
        model: the model's name.
        compute: function for the items; None to call the operation of the present model.
    """

    operation: str
    model: str
    compute: Callable[[Sequence[Any]], list[Any]] | None = None


# Function that computes a batch: its key and items -> one result per item.
Compute = Callable[[BatchKey, list[Any]], list[Any]]


@dataclasses.dataclass(eq=False, slots=True)
class Job:
    """A request's items and results.

    Attributes:
        key: only jobs with equal keys share a batch.
        items: items in their order in the request.
        costs: each item's number of tokens, exact or estimated.
        future: receives all results, or a RequestError.
        seconds: time limit for the results.
        is_explanation: whether the job waits in the lane for explanations.
        request_id: the request's id for the log, or "".
        arrival: time of the arrival, from time.monotonic().
        first_batch: time at which its first batch began; 0 before.
        last_batch_end: time at which its last batch ended; 0 before.
        num_taken: number of items that are already in a batch.
        tokens_taken: their tokens.
        num_left: number of the other items.
        tokens_left: their tokens.
        results: results of the first items; complete when there is one per item.
        error: exception from the computation, or None.
    """

    key: BatchKey
    items: Sequence[Any]
    costs: Sequence[int]
    future: Any
    seconds: float
    is_explanation: bool = False
    request_id: str = ""
    arrival: float = dataclasses.field(default_factory=time.monotonic)
    first_batch: float = 0.0
    last_batch_end: float = 0.0
    num_taken: int = 0
    tokens_taken: int = 0
    num_left: int = dataclasses.field(init=False)
    tokens_left: int = dataclasses.field(init=False)
    results: list[Any] = dataclasses.field(default_factory=list)
    error: Exception | None = None

    def __post_init__(self) -> None:
        self.num_left = len(self.items)
        self.tokens_left = sum(self.costs)

    @property
    def deadline(self) -> float:
        """Return the time at which nobody needs the results any more."""
        return self.arrival + self.seconds

    def phases(self) -> list[Phase]:
        """Return the time in the queue and the time in batches, both until now if they have no end."""
        now = time.monotonic()
        if not self.first_batch:
            return [Phase("queue", self.arrival, now)]
        compute = Phase("compute", self.first_batch, self.last_batch_end or now)
        return [Phase("queue", self.arrival, self.first_batch), compute]


class Chunk(NamedTuple):
    """The items `start` to `end` of a job, in a batch."""

    job: Job
    start: int
    end: int


class Speed:
    """Seconds that a model needs per token, measured from its batches."""

    def __init__(self) -> None:
        self._large: float | None = None
        self._small = math.inf

    def add(self, tokens: int, seconds: float) -> None:
        """Add the measurement of a batch."""
        value = seconds / max(1, tokens)
        if tokens < _LARGE_BATCH_TOKENS:
            self._small = min(self._small, value)
        elif self._large is None:
            self._large = value
        else:
            self._large += _NEW_WEIGHT * (value - self._large)

    @property
    def seconds_per_token(self) -> float:
        """Return the mean of large batches; before the first one, a value that is too small."""
        if self._large is not None:
            return self._large
        return _UNMEASURED if self._small == math.inf else self._small / _SMALL_BATCH_FACTOR
