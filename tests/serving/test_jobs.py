"""Jobs, and a model's speed."""

import pytest

from bert_cli.serving.jobs import BatchKey, Job, Speed


def test_a_job_has_a_deadline():
    job = Job(BatchKey("predict", "a"), ["a", "b"], [3, 4], None, 5.0, arrival=100.0)
    assert (job.deadline, job.num_left, job.tokens_left) == (105.0, 2, 7)


def test_speed():
    speed = Speed()
    first_value = speed.seconds_per_token
    speed.add(10, 1.0)
    assert first_value < speed.seconds_per_token < 0.1
    speed.add(1000, 10.0)
    speed.add(10, 1.0)
    assert speed.seconds_per_token == pytest.approx(0.01)
    speed.add(1000, 20.0)
    assert speed.seconds_per_token == pytest.approx(0.012)
