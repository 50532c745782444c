"""Worker processes: order of results, limits on reading ahead, and errors."""

import os

import pytest

from bert_cli.base.errors import InputError
from bert_cli.corpus.workers import Workers


def scale(factor, number):
    return factor * number, os.getpid()


def fail_at_three(context, number):
    if number == 3:
        raise InputError("three is not allowed")
    return number


def end_process(context, number):
    os._exit(1)


def test_one_worker_runs_in_this_process_without_reading_ahead():
    read = []
    numbers = (read.append(number) or number for number in range(5))
    with Workers(1, 10) as workers:
        results = workers.map(scale, numbers)
        assert next(results) == (0, os.getpid())
        assert read == [0]


def test_two_workers_keep_order_and_read_little_ahead():
    read = []
    numbers = (read.append(number) or number for number in range(40))
    with Workers(2, 10) as workers:
        results = workers.map(scale, numbers)
        first, process = next(results)
        assert first == 0
        assert process != os.getpid()
        assert len(read) <= 4
        assert [value for value, _ in results] == [10 * number for number in range(1, 40)]
        with pytest.raises(InputError, match="three is not allowed"):
            list(workers.map(fail_at_three, range(40)))


def test_killed_worker_is_reported_in_one_line():
    with Workers(2, None) as workers, pytest.raises(InputError, match="worker process was killed"):
        list(workers.map(end_process, range(3)))
