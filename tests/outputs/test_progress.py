"""Progress of a run, in a file and on a terminal."""

import logging
import os
import pty
import re
import sys
import types

import pytest

from bert_cli.outputs import progress as progress_module
from bert_cli.outputs.progress import Progress, shorten_progress_line


class Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


@pytest.fixture(autouse=True)
def terminal_kind(monkeypatch):
    """Set the variables that rich reads, so that tests do not depend on the machine."""
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def logged(monkeypatch):
    """Return the lines that the log gets, without handlers of commands that ran before."""
    log, handler = logging.getLogger("bert_cli"), Lines()
    monkeypatch.setattr(log, "handlers", [handler])
    level = log.level
    log.setLevel(logging.INFO)
    yield handler.lines
    log.setLevel(level)


def test_a_file_gets_a_line_every_few_units_and_at_the_end(logged):
    with Progress("training", 25, start=5, every=10, unit_size=4) as progress:
        for step in (6, 9, 10, 19, 22, 24, 25):
            progress.update(step, {"loss": f"{1 / step:.3f}"})
    assert [line.partition("  examples/s")[0] for line in logged] == [
        "training 10/25  loss 0.100",
        "training 22/25  loss 0.045",
        "training 25/25  loss 0.040",
    ]
    assert logged[-1].endswith("  left 0:00")


class Clock:
    """The time, which only this test moves."""

    seconds = 0.0

    def update(self, progress: Progress, position: int, after: float) -> None:
        self.seconds += after
        progress.update(position)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress_module, "time", types.SimpleNamespace(monotonic=lambda: clock.seconds))
    return clock


def test_the_first_step_does_not_count_for_the_rate(clock):
    """The first step compiles; counting it would predict hours for a run of minutes."""
    progress = Progress("training", 100, unit_size=10)
    clock.update(progress, 1, after=0.5)
    assert progress.rate() == pytest.approx(20)  # no better estimate yet
    for step in (2, 3):
        clock.update(progress, step, after=0.01)
    assert progress.rate() == pytest.approx(1000)  # all three steps in 0.52 s would give 58/s


def test_units_that_were_computed_with_the_first_ones_count_from_the_start(clock):
    """Threads have computed all batches of a small file when the first one arrives."""
    progress = Progress("evaluating", 40, overlaps=True)
    clock.update(progress, 10, after=0.2)
    for position in (20, 30, 40):
        clock.update(progress, position, after=0.001)
    assert progress.rate() == pytest.approx(40 / 0.203)  # from the first update on it would be 10,000


def test_a_long_evaluation_does_not_count_its_compilation(clock):
    progress = Progress("evaluating", 1000, overlaps=True)
    clock.update(progress, 1, after=0.2)
    for position in range(2, 32):
        clock.update(progress, position, after=0.01)
    assert progress.rate() == pytest.approx(100)  # all of them in 0.5 s would be 62


def test_a_terminal_gets_a_bar_and_keeps_its_last_state(logged, monkeypatch):
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with Progress("predicting", 8, every=1) as progress:
            progress.update(4)
            assert logged == []
            progress.update(8)
        shown = b""
        while b"8/8" not in shown:  # output arrives in pieces; without the final state this loop ends by the time limit
            shown += os.read(ours, 100_000)
        shown = shown.decode("utf-8")
    os.close(ours)
    assert "━" in shown
    assert "8/8" in shown
    assert [line.partition("  ")[0] for line in logged] == ["predicting 8/8"]


def interrupt_progress():
    with Progress("predicting", 8) as progress:
        progress.update(4)
        raise KeyboardInterrupt


def test_an_interrupted_bar_is_removed(logged, monkeypatch):
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with pytest.raises(KeyboardInterrupt):
            interrupt_progress()
        shown = b""
        # Output arrives in pieces, and the first one may only hide the cursor.
        while "━".encode() not in shown:
            shown += os.read(ours, 100_000)
    os.close(ours)
    assert logged == []


def terminal_lines(monkeypatch, columns, work):
    """Return the lines that `work` leaves on a terminal, state by state, without cursor codes.

    Args:
        monkeypatch: pytest's fixture.
        columns: width of the terminal.
        work: function that writes.
    """
    monkeypatch.setenv("COLUMNS", str(columns))
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        work()
        terminal.write("\nTHE END\n")
        terminal.flush()
        shown = b""
        while b"THE END" not in shown:
            shown += os.read(ours, 100_000)
    os.close(ours)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode("utf-8"))
    return [line for line in re.split(r"[\r\n]+", plain) if line and line != "THE END"]


@pytest.mark.parametrize("columns", [80, 60])
def test_the_live_line_is_complete_and_never_wraps(columns, logged, monkeypatch):
    def train():
        with Progress("training", 3000, unit_size=32) as progress:
            for step in (1, 999, 1000):
                progress.update(step, {"loss": "0.1234", "learning rate": "4.85e-05"})
            progress._bar.refresh()

    lines = terminal_lines(monkeypatch, columns, train)
    fits = re.compile(rf"(?=.{{0,{columns}}}$)training .*━.*")
    assert [line for line in lines if not fits.fullmatch(line)] == []
    last = re.fullmatch(
        r"training ━[━╸╺]+ 1000/3000 +loss 0.1234 +lr 4.85e-05( +[\d.]+/s)? +left [\d:]+", lines[-1].strip()
    )
    assert last, lines[-1]
    assert bool(last[1]) == (columns == 80)


def test_a_long_line_loses_its_least_important_values():
    values = {"loss": "0.1234", "learning rate": "4.85e-05"}
    whole = "loss 0.1234  lr 4.85e-05  120.0/s  left 1:02:03"
    shorter = [
        "loss 0.1234  lr 4.85e-05  left 1:02:03", "loss 0.1234 lr 4.85e-05 left 1:02:03", "loss 0.1234 left 1:02:03",
        "left 1:02:03", "",
    ]  # fmt: skip
    assert shorten_progress_line(values, "120.0/s", "1:02:03", len(whole)) == whole
    for longer, text in zip([whole, *shorter], shorter, strict=False):
        assert shorten_progress_line(values, "120.0/s", "1:02:03", len(longer) - 1) == text


def test_a_terminal_that_is_closed_does_not_end_the_work(logged, monkeypatch):
    ours, theirs = pty.openpty()
    with open(theirs, "w", encoding="utf-8", closefd=False) as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with Progress("predicting", 8, every=1) as progress:
            progress.update(4)
            os.close(ours)
            progress.update(8)
        assert sys.stderr is terminal
    os.close(theirs)
    assert logged[0].startswith("predicting 8/8")


@pytest.mark.parametrize("stream", [None, object()])
def test_lines_without_standard_error(stream, logged, monkeypatch):
    """A daemon has no sys.stderr, and another program may replace it with any object."""
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("predicting", 8, every=4) as progress:
        progress.update(8)
    assert logged[0].startswith("predicting 8/8")
