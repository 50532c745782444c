"""Extended runs: their recognition and their learning-rate schedule."""

import pytest

from bert_cli.run_directory.manifest import is_longer, schedule_start, schedule_warmup


@pytest.mark.parametrize(
    ("before", "steps", "done", "longer"),
    [
        ({"steps": 10}, 20, 10, True),
        ({"steps": 10}, 20, 9, False),  # killed half-way
        ({"steps": 10}, 10, 10, False),
        ({"steps": 10}, 5, 10, False),
        ({"steps": 10, "stopped_at": 6}, 20, 6, True),
        ({"steps": 10, "stopped_at": 6}, 8, 6, False),  # not longer than before
        ({}, 20, 10, False),  # the length is unknown
        ({"steps": "10"}, 20, 10, False),
        ({"steps": 10}, None, 10, False),
    ],
)
def test_is_longer_if_a_finished_run_is_extended(before, steps, done, longer):
    assert is_longer(before, steps, done) is longer


@pytest.mark.parametrize(
    ("before", "steps", "done", "start"),
    [
        ({"steps": 10}, 20, 10, 10),
        ({"steps": 10}, 10, 5, 0),
        ({"steps": 10}, 20, 5, 0),  # killed, so the schedule is stretched
        ({"steps": 20, "plan_from": 10}, 20, 15, 10),
        ({"steps": 20, "plan_from": 10}, 8, 5, 0),  # ends before the old schedule starts
        ({"steps": 20, "plan_from": "x"}, 20, 15, 0),
    ],
)
def test_schedule_start_is_the_last_step_of_an_extended_run(before, steps, done, start):
    assert schedule_start(before, steps, done) == start


def test_warmup_keeps_its_share():
    assert schedule_warmup(10, 100, 0) == 10
    assert schedule_warmup(10, 100, 50) == 5
    assert schedule_warmup(0, 100, 50) == 0
