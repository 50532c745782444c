"""history.jsonl: how the training of a run went, a JSON object a line, in the order of the steps.

    {"step": 100, "loss": 0.41, "learning_rate": 4.5e-05, "examples_per_second": 812.4, "seconds":
    4.2} {"step": 100, "metrics": {"eval_accuracy": 0.83, "eval_loss": 0.39}, "seconds": 4.9}

A line of the first kind is written for each --log_steps steps, without the flag as lines_each says,
and for the last one; one of the second kind for each evaluation.

step                 finished steps (updates)
loss                 mean over the steps since the line before it of that kind, or since the run went on;
                     in the line of the last step the final loss
learning_rate        of the last of these steps
examples_per_second  over the same steps, without the time that evaluations took
metrics              as in eval_results.txt, numbers
seconds              of training so far, evaluations included; time between a kill and going on is left out

The final loss is the mean over the last tenth of the steps, and over one interval at least. The
log, the report and run_report.json (last_loss) have the same number.

A run that goes on from a checkpoint cuts the file back to the checkpoint's step first, so that it
ends with the same steps as a run that was never stopped. A last line without its end, which a kill
can leave, is no line.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

from bert_cli.base import files
from bert_cli.base.json_files import member, parse_json
from bert_cli.base.lines import decode
from bert_cli.base.names import HISTORY
from bert_cli.base.writing import atomic_write

_LOG_STEPS = 100  # where --log_steps does not say
_CURVE_POINTS = 25  # lines of training, at least: a curve of two is a straight one
_ADVICE = "remove the line"


def lines_each(log_steps: int, steps: int) -> tuple[int, int]:
    """Steps between two lines of (the terminal, the history) in a training of that length.
    log_steps: 0 where it is not said.
    """
    if log_steps:
        return log_steps, log_steps
    # A divisor of _LOG_STEPS, so that the history has the steps of the terminal's lines.
    most = max(1, steps // _CURVE_POINTS)
    return _LOG_STEPS, max(each for each in range(1, _LOG_STEPS + 1) if each <= most and _LOG_STEPS % each == 0)


def read_history(folder: str) -> list[dict[str, Any]]:
    """The lines of a run's history.jsonl; [] where there is none. InputError, with file:line, for
    one that is damaged.
    """
    path = os.path.join(folder, HISTORY)
    if not files.exists(path):
        return []
    lines = decode(files.read_bytes(path), path).split("\n")
    entries = []
    # Without the last piece, which is empty, or a line that a kill has torn.
    for number, line in enumerate(lines[:-1], 1):
        entry = parse_json(line, path, number, _ADVICE)
        member(entry, "step", int, f"{path}:{number}", _ADVICE)
        entries.append(entry)
    return entries


def plain_number(value: Any) -> float | int:
    """A metric ready for JSON; a float32 as the shortest decimal that gives the same float32."""
    return value if isinstance(value, int) else float(str(value))


class History:
    """The history of one run, from its start or from where it goes on. `entries`: the lines up to
    now; `paused`: seconds since `open` that were no training.

    Nothing is written before `open`, and by processes that are not the chief nothing at all.
    """

    def __init__(self, folder: str, start: int):
        """start: finished steps of the checkpoint that the run goes on from, 0 for a new run."""
        self._folder = folder
        self._writes = False
        self.entries = [entry for entry in read_history(folder) if entry["step"] <= start] if start else []
        self._before = float(self.entries[-1].get("seconds", 0.0)) if self.entries else 0.0
        self._began = time.monotonic()
        self.paused = 0.0
        self._last = (start, 0.0)

    @property
    def evaluations(self) -> list[tuple[int, dict[str, Any]]]:
        """(step, metrics) of each evaluation."""
        return [(entry["step"], entry["metrics"]) for entry in self.entries if "metrics" in entry]

    def open(self, writes: bool) -> None:
        """Begin: the file is cut back to the entries that are known. writes: whether this process
        writes files.
        """
        # The clock starts here: reading and compilation before it are no training.
        self._writes = writes
        self._began = time.monotonic()
        self.paused = 0.0
        if writes:
            self._write_all()

    def add_training(self, step: int, loss: float, rate: float, batch_size: int) -> None:
        """A line of training; loss: mean over the steps since the line before, rate: of learning."""
        position, clock = self._last
        now = time.monotonic() - self._began - self.paused
        speed = (step - position) * batch_size / max(now - clock, 1e-9)
        self._last = (step, now)
        loss, rate = (float(f"{value:.7g}") for value in (loss, rate))
        self._add(step=step, loss=loss, learning_rate=rate, examples_per_second=round(speed, 2))

    def add_evaluation(self, step: int, metrics: Mapping[str, Any]) -> None:
        """A line of an evaluation, which is on the disk when this returns; none where this step has
        one already.
        """
        if step not in (known for known, _ in self.evaluations):
            self._add(step=step, metrics={name: plain_number(value) for name, value in metrics.items()})

    @contextlib.contextmanager
    def pausing(self) -> Iterator[None]:
        """What is done within it is no training, and counts in no rate."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.paused += time.monotonic() - began

    def _add(self, **entry: Any) -> None:
        entry["seconds"] = round(self._before + time.monotonic() - self._began, 3)
        self.entries.append(entry)
        if not self._writes:
            return
        path = os.path.join(self._folder, HISTORY)
        if files.is_remote(path):  # such places cannot be appended to
            self._write_all()
            return
        # Appended, not written atomically: a kill costs the last line at most, and read_history
        # leaves a torn one out.
        with open(path, "a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            if "metrics" in entry:  # what the best checkpoint is chosen by
                os.fsync(file.fileno())

    def _write_all(self) -> None:
        path = os.path.join(self._folder, HISTORY)
        text = "".join(json.dumps(entry) + "\n" for entry in self.entries)
        if text != (files.read_bytes(path).decode("utf-8") if files.exists(path) else ""):
            with atomic_write(path) as file:
                file.write(text)
