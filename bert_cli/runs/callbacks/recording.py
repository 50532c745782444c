"""history.jsonl, and the same as TensorBoard reads it: a file of scalars with the same steps and
numbers.

TensorFlow itself writes it, so that only who looks at it needs the package tensorboard. As the
history is cut back to where a run goes on from, the file is rewritten then. What is in
output_dir/run-1 and the like is a run of its own there.
"""

import os
import time
from collections.abc import Mapping
from typing import Any

from bert_cli.base.names import EVENTS
from bert_cli.outputs.history import History, lines_each
from bert_cli.training.loop import Callback


class HistoryCallback(Callback):
    """Adds a line for each interval of training and for each evaluation."""

    def __init__(self, history: History, log_steps: int, steps: int, batch_size: int, writes: bool):
        """log_steps: of --log_steps; steps: of the whole training; writes: whether this process
        writes files.
        """
        self._history = history
        self._writes = writes
        self._steps = steps
        self._batch_size = batch_size
        self._every = lines_each(log_steps, steps)[1]

    def on_start(self) -> None:
        self._history.open(self._writes)

    def on_log(self, step: int, loss: float, rate: float) -> None:
        # The progress bar asks more often; a line between two intervals would restart the mean
        # loss.
        if step % self._every == 0 or step == self._steps:
            self._history.add_training(step, loss, rate, self._batch_size)

    def on_evaluation(self, step: int, metrics: Mapping[str, Any]) -> None:
        self._history.add_evaluation(step, metrics)


_VERSION = "brain.Event:2"  # which TensorBoard wants in the first event
_RATES = ("loss", "learning_rate", "examples_per_second")


class TensorBoardCallback(Callback):
    """Writes each line that the history gets; it has to be called after HistoryCallback, which adds
    the lines.
    """

    def __init__(self, folder: str, history: History):
        self._path = os.path.join(folder, EVENTS)
        self._history = history
        self._began = 0.0
        self._written = 0
        self._writer: Any = None

    def on_start(self) -> None:
        """Write all lines of the history up to now, each at the time that its `seconds` give."""
        import tensorflow as tf  # not at the top: tests of `scalars` and other commands need none

        known = self._history.entries
        self._began = time.time() - (known[-1].get("seconds", 0.0) if known else 0.0)
        self._written = 0
        self._writer = tf.io.TFRecordWriter(self._path)
        first = tf.compat.v1.Event(wall_time=self._began, file_version=_VERSION)
        self._writer.write(first.SerializeToString())
        self._write_new()

    def on_log(self, step: int, loss: float, rate: float) -> None:
        self._write_new()

    def on_evaluation(self, step: int, metrics: Mapping[str, Any]) -> None:
        self._write_new()

    def _write_new(self) -> None:
        """Write the lines that the history has got since; they are on their way to the disk when
        this returns.
        """
        import tensorflow as tf

        for entry in self._history.entries[self._written :]:
            event = tf.compat.v1.Event(wall_time=self._began + entry.get("seconds", 0.0), step=entry["step"])
            for tag, value in scalars(entry).items():
                event.summary.value.add(tag=tag, simple_value=value)
            self._writer.write(event.SerializeToString())
        self._written = len(self._history.entries)
        self._writer.flush()


def scalars(entry: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a line of history.jsonl by what TensorBoard calls them: evaluation/… and
    training/….
    """
    if "metrics" in entry:
        named = {f"evaluation/{name}": value for name, value in entry["metrics"].items()}
    else:
        named = {f"training/{name}": entry[name] for name in _RATES if name in entry}
    return {name: float(value) for name, value in named.items()}
