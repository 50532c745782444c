"""A function runs in a thread, and `wait` returns its result or raises its exception."""

import sys
import threading

import pytest

from bert_cli.inference.engine import BackgroundCall


def test_the_function_runs_in_another_thread():
    may_end = threading.Event()
    background = BackgroundCall(lambda: may_end.wait(10) and threading.current_thread())
    may_end.set()
    assert background.wait() is not threading.current_thread()


def test_waiting_twice_returns_the_same_result():
    background = BackgroundCall(lambda: [1])
    assert background.wait() is background.wait()


def test_exceptions_are_raised_by_wait():
    background = BackgroundCall(lambda: {}["missing"])
    with pytest.raises(KeyError, match="missing"):
        background.wait()


def test_threads_switch_often_while_functions_run():
    usual_seconds = sys.getswitchinterval()
    may_end = threading.Event()
    started = threading.Barrier(3)

    def wait_to_end():
        started.wait(10)
        may_end.wait(10)

    threads = [BackgroundCall(wait_to_end) for _ in range(2)]
    started.wait(10)
    assert sys.getswitchinterval() < usual_seconds
    may_end.set()
    for thread in threads:
        thread.wait()
    assert sys.getswitchinterval() == usual_seconds
