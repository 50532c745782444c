"""A function runs in a thread, and `wait` returns its result or raises its exception."""

import threading

import pytest

from bert_cli.inference.engine import Background


def test_the_function_runs_in_another_thread():
    may_end = threading.Event()
    background = Background(lambda: may_end.wait(10) and threading.current_thread())
    may_end.set()
    assert background.wait() is not threading.current_thread()


def test_waiting_twice_returns_the_same_result():
    background = Background(lambda: [1])
    assert background.wait() is background.wait()


def test_exceptions_are_raised_by_wait():
    background = Background(lambda: {}["missing"])
    with pytest.raises(KeyError, match="missing"):
        background.wait()
