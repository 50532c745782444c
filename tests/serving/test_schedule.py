"""The order of waiting requests, their time, and the refusal of those that would be late."""

import time

import pytest

from bert_cli.serving.jobs import BatchKey, Job
from bert_cli.serving.responses import RequestError
from bert_cli.serving.schedule import MAX_BATCH_ITEMS, MAX_BATCH_TOKENS, JobQueue

KEY = BatchKey("predict", "a")
TOKENS = 10
SECONDS = 30


def job(count, cost=TOKENS, key=KEY, age=0.0, seconds=SECONDS, is_explanation=False):
    """Return a job with `count` items, which arrived some seconds ago."""
    arrival = time.monotonic() - age
    return Job(key, range(count), [cost] * count, None, seconds, is_explanation, arrival=arrival)


def make_schedule(seconds_per_token=None, max_items=100_000, jobs=()):
    """Return a queue with jobs; without `seconds_per_token`, the model's speed is unknown."""
    schedule = JobQueue(max_items, SECONDS)
    if seconds_per_token is not None:
        first = job(100)
        schedule.add(first)
        batch = schedule.take_batch()
        schedule.note_end(batch, 640 * seconds_per_token)
        schedule.remove(first)
    for added in jobs:
        schedule.add(added)
    return schedule


def counts(batch):
    """Return (job, number of its items) for each job in a batch."""
    return [(chunk.job, chunk.end - chunk.start) for chunk in batch]


def test_requests_that_wait_are_computed_together():
    first, second, other = job(1), job(2), job(1, key=BatchKey("predict", "b"))
    schedule = make_schedule(jobs=[first, other, second])
    assert counts(schedule.take_batch()) == [(first, 1), (second, 2)]
    assert counts(schedule.take_batch()) == [(other, 1)]
    assert (schedule.num_waiting, schedule.take_batch()) == (0, [])


def test_batches_are_limited():
    items = make_schedule(jobs=[job(1000)])
    assert sum(count for _, count in counts(items.take_batch())) == MAX_BATCH_ITEMS
    tokens = make_schedule(jobs=[job(3, MAX_BATCH_TOKENS // 2)])
    assert [count for _, count in counts(tokens.take_batch())] == [2]
    long = make_schedule(jobs=[job(2, MAX_BATCH_TOKENS + 1)])
    assert [count for _, count in counts(long.take_batch())] == [1]
    # 100 tokens of this model take 0.25 s.
    slow = make_schedule(0.0025, jobs=[job(50)])
    assert [count for _, count in counts(slow.take_batch())] == [10]


def test_a_large_request_does_not_hold_up_a_small_one():
    large = job(1000, age=1.0)
    schedule = make_schedule(0.001, jobs=[large])
    # Its items take 10 s. After 0.5 s, its next item is due 2 s after its arrival.
    for _ in range(2):
        schedule.note_end(schedule.take_batch(), 0.25)
    small = job(1)
    schedule.add(small)
    assert counts(schedule.take_batch())[0] == (small, 1)


def test_the_oldest_requests_come_first_in_a_long_queue():
    jobs = [job(20, age=10 - number) for number in range(10)]
    schedule = make_schedule(0.001, jobs=reversed(jobs))
    assert [chunk_job for _ in range(10) for chunk_job, _ in counts(schedule.take_batch())[:1]][:2] == jobs[:2]


def test_a_request_that_would_be_late_is_refused():
    # The queue may take 20 s of the 30 s for a request.
    schedule = make_schedule(0.01, jobs=[job(100)])
    schedule.add(job(90))
    with pytest.raises(RequestError, match=r"^190 texts wait already, for about 19 s; try again later$") as caught:
        schedule.add(job(20))
    assert (caught.value.status, caught.value.retry_after) == (429, 10)
    schedule.add(job(5))
    with pytest.raises(RequestError):
        schedule.add(job(100, is_explanation=True))
    # A request that waits for no other is accepted.
    assert make_schedule(0.01, jobs=[job(1000)]).num_waiting == 1000


def test_too_many_texts_are_refused():
    schedule = make_schedule(max_items=10, jobs=[job(8)])
    with pytest.raises(RequestError, match=r"^8 texts wait already; try again later$") as caught:
        schedule.add(job(3))
    assert (caught.value.status, caught.value.retry_after) == (429, 1)
    schedule.add(job(2))


def test_explanations_and_other_requests_share_the_time():
    explanation = job(1000, key=BatchKey("explain", "a"), age=5, is_explanation=True)
    schedule = make_schedule(0.001, jobs=[explanation, job(1000)])
    lanes = []
    for _ in range(6):
        batch = schedule.take_batch()
        lanes.append(batch[0].job.is_explanation)
        schedule.note_end(batch, 0.25)
    assert lanes == [False, True, False, True, False, True]


def test_explanations_do_not_keep_other_requests_out():
    """A prediction needs at most twice the time that its lane takes."""
    key = BatchKey("explain", "a")
    schedule = make_schedule(0.01, jobs=[job(190, key=key, is_explanation=True)])
    with pytest.raises(RequestError):
        schedule.add(job(20, key=key, is_explanation=True))
    schedule.add(job(90))
    with pytest.raises(RequestError):
        schedule.add(job(20))


def test_a_request_that_became_late_is_removed():
    """Without a measurement, all requests are accepted; after the first batch, some turn out to be late."""
    jobs = [job(20), job(10), job(20, seconds=5), job(10), job(1000)]
    schedule = make_schedule(jobs=jobs)
    batch = schedule.take_batch()
    schedule.note_end(batch, sum(count for _, count in counts(batch)) * TOKENS * 0.1)
    late = schedule.remove_late()
    assert late == [jobs[2], jobs[4]]
    assert [(late_job.error.status, late_job.error.retry_after) for late_job in late][1] == (413, 0)
    assert late[0].error.status == 429
    assert schedule.num_waiting == sum(remaining.num_left for remaining in (jobs[0], jobs[1], jobs[3]))
    assert schedule.remove_late() == []


def test_a_removed_request_takes_no_time():
    first, second = job(100), job(50)
    schedule = make_schedule(0.01, jobs=[first, second])
    schedule.remove(first)
    assert (schedule.num_waiting, first.num_left) == (50, 0)
    schedule.remove(second)
    schedule.remove(second)
    assert schedule.num_waiting == 0
    schedule.refuse_late()


def test_the_speed_of_another_checkpoint_is_unknown():
    schedule = make_schedule(0.01, jobs=[job(190)])
    with pytest.raises(RequestError):
        schedule.add(job(20))
    schedule.forget_speed("a")
    schedule.add(job(20))
