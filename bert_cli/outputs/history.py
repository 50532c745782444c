"""history.jsonl: the training's progress, one JSON object per line, in step order.

    {"step": 100, "loss": 0.41, "learning_rate": 4.5e-05, "examples_per_second": 812.4, "seconds": 4.2}
    {"step": 100, "metrics": {"eval_accuracy": 0.83, "eval_loss": 0.39}, "seconds": 4.9}

Training writes a line like the first every --log_steps steps (see logging_intervals for the default), and
one for the last step. Each evaluation writes a line like the second.

step                 finished steps (updates)
loss                 mean over the steps since the previous such line, or since the run resumed;
                     the last step's line has the final loss
learning_rate        learning rate in the last step
examples_per_second  speed over the same steps, without the time used for evaluations
metrics              numbers as in eval_results.txt
seconds              training time so far, including evaluations, without pauses between a kill and resuming

The final loss is the mean over the last tenth of the steps, and over at least one interval. The
log, the report and run_report.json (last_loss) have the same number.

A run that resumes from a checkpoint first cuts the file back to the checkpoint's step. So the file
ends with the same steps as in a run that was never stopped. An incomplete last line, which a kill
can leave, is ignored.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import Required, TypedDict

from bert_cli.base import files
from bert_cli.base.json_files import expect_member, parse_json
from bert_cli.base.lines import decode
from bert_cli.base.names import HISTORY
from bert_cli.base.writing import atomic_write
from bert_cli.metrics.selection import Metric

_LOG_STEPS = 100  # default if --log_steps is not set
_LOG_LINES = 10  # minimum lines of training in the log: a silent run looks like one that hangs
_CURVE_POINTS = 25  # minimum lines of training: a curve through two points is a straight line
_ADVICE = "remove the line"
RATES = ("loss", "learning_rate", "examples_per_second")  # numbers in a training line


class HistoryEntry(TypedDict, total=False):
    """A line, see above: it has `metrics`, or the other members of training; both have seconds."""

    step: Required[int]
    loss: float
    learning_rate: float
    examples_per_second: float
    metrics: dict[str, float]
    seconds: float


def logging_intervals(log_steps: int, steps: int) -> tuple[int, int]:
    """Return the steps between two lines, in the log without a terminal and in the history.

    Args:
        log_steps: value of --log_steps, 0 if it is not set.
        steps: number of training steps.
    """
    if log_steps:
        return log_steps, log_steps
    # Choose divisors of _LOG_STEPS, and a multiple for the log, so that the history contains the
    # steps in the lines of the log.
    divisors = [interval for interval in range(1, _LOG_STEPS + 1) if _LOG_STEPS % interval == 0]
    in_history = max(interval for interval in divisors if interval <= max(1, steps // _CURVE_POINTS))
    multiples = [interval for interval in divisors if interval % in_history == 0]
    return max(interval for interval in multiples if interval <= max(1, steps // _LOG_LINES)), in_history


def read_history(folder: str) -> list[HistoryEntry]:
    """Return the lines in a run's history.jsonl, [] if the file does not exist.

    Raises:
        InputError: a line is damaged; the message has file:line.
    """
    path = os.path.join(folder, HISTORY)
    if not files.exists(path):
        return []
    lines = decode(files.read_bytes(path), path).split("\n")
    entries: list[HistoryEntry] = []
    # Ignore the last piece, which is empty, or incomplete after a kill.
    for number, line in enumerate(lines[:-1], 1):
        entry = parse_json(line, path, number, _ADVICE)
        expect_member(entry, "step", int, f"{path}:{number}", _ADVICE)
        entries.append(entry)
    return entries


def plain_number(value: Metric) -> float | int:
    """Return a metric for JSON, a float32 as the shortest decimal that gives the same float32."""
    return value if isinstance(value, int) else float(str(value))


class History:
    """The history of one run, from its start or from the step at which it resumes.

    Nothing is written before `open`. Only the chief process writes.

    Attributes:
        entries: all lines so far.
        paused: seconds since `open` that were not training.
    """

    def __init__(self, folder: str, start: int):
        """Read the entries to keep.

        Args:
            folder: the run's output directory.
            start: finished steps in the checkpoint to resume from, 0 for a new run.
        """
        self._folder = folder
        self._writes = False
        self.entries = [entry for entry in read_history(folder) if entry["step"] <= start] if start else []
        self._before = float(self.entries[-1].get("seconds", 0.0)) if self.entries else 0.0
        self._began = time.monotonic()
        self.paused = 0.0
        self._last = (start, 0.0)

    @property
    def evaluations(self) -> list[tuple[int, dict[str, float]]]:
        """Return (step, metrics) for each evaluation."""
        return [(entry["step"], entry["metrics"]) for entry in self.entries if "metrics" in entry]

    def open(self, writes: bool) -> None:
        """Start the clock, and cut the file back to the known entries if this process `writes`."""
        # Start the clock here: reading and compilation are not training.
        self._writes = writes
        self._began = time.monotonic()
        self.paused = 0.0
        if writes:
            self._write_all()

    def add_training(self, step: int, loss: float, rate: float, batch_size: int) -> None:
        """Add a training line.

        Args:
            step: finished steps.
            loss: mean loss since the previous line.
            rate: learning rate.
            batch_size: examples per step.
        """
        position, clock = self._last
        now = time.monotonic() - self._began - self.paused
        speed = (step - position) * batch_size / max(now - clock, 1e-9)
        self._last = (step, now)
        loss, rate = (float(f"{value:.7g}") for value in (loss, rate))
        self._add({"step": step, "loss": loss, "learning_rate": rate, "examples_per_second": round(speed, 2)})

    def add_evaluation(self, step: int, metrics: Mapping[str, Metric]) -> None:
        """Add an evaluation, which is on disk on return; ignore it if its step has one already."""
        if step not in (evaluated_step for evaluated_step, _ in self.evaluations):
            self._add({"step": step, "metrics": {name: plain_number(value) for name, value in metrics.items()}})

    @contextlib.contextmanager
    def pausing(self) -> Iterator[None]:
        """Return a context that stops the clock for training time and rates."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.paused += time.monotonic() - began

    def _add(self, entry: HistoryEntry) -> None:
        entry["seconds"] = round(self._before + time.monotonic() - self._began, 3)
        self.entries.append(entry)
        if not self._writes:
            return
        path = os.path.join(self._folder, HISTORY)
        if files.is_remote(path):  # remote files cannot be appended to
            self._write_all()
            return
        # Append instead of writing atomically: a kill loses at most the last line, which
        # read_history ignores if it is incomplete.
        with open(path, "a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            if "metrics" in entry:  # metrics choose the best checkpoint
                os.fsync(file.fileno())

    def _write_all(self) -> None:
        path = os.path.join(self._folder, HISTORY)
        text = "".join(json.dumps(entry) + "\n" for entry in self.entries)
        if text != (files.read_bytes(path).decode("utf-8") if files.exists(path) else ""):
            with atomic_write(path) as file:
                file.write(text)
