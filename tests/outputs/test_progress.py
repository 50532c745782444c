"""What a run shows of its progress, in a file and on a terminal."""

import logging
import os
import pty
import sys
import time

import pytest

from bert_cli.outputs.progress import Progress


class Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


@pytest.fixture
def logged():
    """The lines that the log gets."""
    log, handler = logging.getLogger("bert_cli"), Lines()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield handler.lines
    log.removeHandler(handler)
    log.setLevel(level)


def test_a_file_gets_a_line_each_so_many_units_and_at_the_end(logged):
    with Progress("training", 25, start=5, every=10, unit_size=4) as progress:
        for step in (6, 9, 10, 19, 22, 24, 25):
            progress.update(step, {"loss": f"{1 / step:.3f}"})
    assert [line.partition("  examples/s")[0] for line in logged] == [
        "training 10/25  loss 0.100",
        "training 22/25  loss 0.045",
        "training 25/25  loss 0.040",
    ]
    assert logged[-1].endswith("  left 0:00")


def test_the_first_piece_of_work_does_not_count_for_the_rate():
    """It compiles; counting it would show a run of minutes as one of hours."""
    progress = Progress("training", 100, unit_size=10)
    time.sleep(0.5)
    progress.update(1)
    assert 0 < progress.rate() < 20  # nothing better is known yet
    for step in (2, 3):
        time.sleep(0.01)
        progress.update(step)
    assert 120 < progress.rate() < 2000  # 10 examples in 0.01 s are 1000; all three in 0.52 s would be 58


def test_a_terminal_gets_a_bar_and_keeps_its_last_state(logged, monkeypatch):
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with Progress("predicting", 8, every=1) as progress:
            progress.update(4)
            assert logged == []
            progress.update(8)
        shown = b""
        while (
            b"8/8" not in shown
        ):  # what is written comes in pieces; a bar that never gets there fails by the time limit
            shown += os.read(ours, 100_000)
        shown = shown.decode("utf-8")
    os.close(ours)
    assert "━" in shown
    assert "8/8" in shown
    assert [line.partition("  ")[0] for line in logged] == ["predicting 8/8"]


def be_interrupted():
    with Progress("predicting", 8) as progress:
        progress.update(4)
        raise KeyboardInterrupt


def test_a_terminal_keeps_nothing_of_work_that_was_interrupted(logged, monkeypatch):
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with pytest.raises(KeyboardInterrupt):
            be_interrupted()
        assert "━" in os.read(ours, 100_000).decode("utf-8")
    os.close(ours)
    assert logged == []
