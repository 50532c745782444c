"""Forked children cannot use the parent's TensorFlow, and their locks are free."""

import os
import sys
import threading
import types

import pytest

from bert_cli.base.errors import InputError
from bert_cli.runtime.process import PROCESS, ForkedLock, refuse_lost_tensorflow


def run_in_child(question) -> str:
    """Return the result of question() in a forked child, or "no answer" after ten seconds."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            threading.Timer(10, os._exit, (1,)).start()
            os.write(writer, str(question()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        answer = stream.read()
    os.waitpid(child, 0)
    return answer or "no answer"


class Threading:
    """Fake tf.config.threading, which refuses another number once TensorFlow has started."""

    def __init__(self, has_started: bool):
        self.has_started = has_started
        self.count = 0

    def get_inter_op_parallelism_threads(self) -> int:
        return self.count

    def set_inter_op_parallelism_threads(self, count: int) -> None:
        if self.has_started:
            raise RuntimeError("Inter op parallelism cannot be modified after initialization.")
        self.count = count


def refusal() -> str:
    try:
        refuse_lost_tensorflow()
    except InputError as error:
        return str(error)
    return f"computes with {sys.modules['tensorflow'].config.threading.count} threads"


@pytest.mark.parametrize("has_started", [False, True])
def test_a_child_is_refused_if_tensorflow_has_started_in_its_parent(monkeypatch, has_started):
    tensorflow = types.ModuleType("tensorflow")
    tensorflow.config = types.SimpleNamespace(threading=Threading(has_started))
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow)
    monkeypatch.setattr(PROCESS, "has_lost_tensorflow", False)
    answer = run_in_child(refusal)
    assert answer.startswith("TensorFlow was started before this process was forked" if has_started else "computes")
    assert has_started or answer.endswith("with 0 threads")
    refuse_lost_tensorflow()  # the parent is not refused


def test_a_child_of_a_child_is_refused(monkeypatch):
    monkeypatch.setattr(PROCESS, "has_lost_tensorflow", True)
    assert "load the model in each worker process (load_once)" in run_in_child(refusal)


@pytest.mark.parametrize("module", [None, types.ModuleType("tensorflow")])
def test_a_child_of_a_process_without_tensorflow_may_compute(monkeypatch, module):
    monkeypatch.setitem(sys.modules, "tensorflow", module)
    monkeypatch.setattr(PROCESS, "has_lost_tensorflow", False)
    assert run_in_child(lambda: refuse_lost_tensorflow() or "computes") == "computes"


def test_a_lock_that_another_thread_holds_is_free_in_a_child():
    lock = ForkedLock()
    holds, is_over = threading.Event(), threading.Event()

    def hold():
        with lock:
            holds.set()
            is_over.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    holds.wait(20)

    def enter() -> str:
        with lock, lock:
            return "entered"

    answer = run_in_child(enter)
    is_over.set()
    thread.join()
    assert answer == "entered"
