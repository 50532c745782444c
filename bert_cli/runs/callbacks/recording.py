"""Callbacks that write history.jsonl, and the same numbers for TensorBoard.

TensorFlow writes the event file, so only viewing it needs the package tensorboard. When a run is
resumed, its history is cut back, and the event file is rewritten. In TensorBoard, subdirectories
such as output_dir/run-1 are separate runs.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from bert_cli.base.names import EVENTS
from bert_cli.outputs.history import RATES, History, logging_intervals
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.callbacks.observers import Callback, ObserverCallback
from bert_cli.settings.training import Saving
from bert_cli.training.loop import LoopCallback
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters


class HistoryCallback(LoopCallback):
    """Adds a line to history.jsonl for each logging interval and each evaluation."""

    def __init__(self, history: History, log_steps: int, steps: int, batch_size: int, writes: bool):
        """Keep the history and the logging interval.

        Args:
            log_steps: value of --log_steps, 0 if it is not set.
            steps: number of steps in the whole training.
            batch_size: examples per step.
            writes: whether this process writes files.
        """
        self._history = history
        self._writes = writes
        self._steps = steps
        self._batch_size = batch_size
        self._every = logging_intervals(log_steps, steps)[1]

    def on_start(self) -> None:
        self._history.open(self._writes)

    def on_log(self, step: int, loss: float, rate: float) -> None:
        # Calls may be more frequent, but a line between two intervals would restart the mean loss.
        if step % self._every == 0 or step == self._steps:
            self._history.add_training(step, loss, rate, self._batch_size)

    def on_evaluation(self, step: int, metrics: Mapping[str, Any]) -> None:
        self._history.add_evaluation(step, metrics)


_VERSION = "brain.Event:2"  # TensorBoard requires it in the first event


class TensorBoardCallback(LoopCallback):
    """Writes the history's lines for TensorBoard; call HistoryCallback first, which adds them."""

    def __init__(self, directory: RunDirectory, history: History):
        self._path = directory.file(EVENTS)
        self._history = history
        self._start = 0.0
        self._written = 0
        self._writer: Any = None

    def on_start(self) -> None:
        """Write all lines in the history, with times derived from their `seconds`."""
        # Import late: `scalars` and other commands do not need TensorFlow.
        import tensorflow as tf

        entries = self._history.entries
        self._start = time.time() - (entries[-1].get("seconds", 0.0) if entries else 0.0)
        self._written = 0
        self._writer = tf.io.TFRecordWriter(self._path)
        first = tf.compat.v1.Event(wall_time=self._start, file_version=_VERSION)
        self._writer.write(first.SerializeToString())
        self._write_new()

    def on_log(self, step: int, loss: float, rate: float) -> None:
        self._write_new()

    def on_evaluation(self, step: int, metrics: Mapping[str, Any]) -> None:
        self._write_new()

    def _write_new(self) -> None:
        """Write new lines in the history, and flush the file."""
        import tensorflow as tf

        for entry in self._history.entries[self._written :]:
            event = tf.compat.v1.Event(wall_time=self._start + entry.get("seconds", 0.0), step=entry["step"])
            for tag, value in scalars(entry).items():
                event.summary.value.add(tag=tag, simple_value=value)
            self._writer.write(event.SerializeToString())
        self._written = len(self._history.entries)
        self._writer.flush()


def scalars(entry: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers in a line of history.jsonl by TensorBoard tag.

    Tags are "evaluation/NAME" for metrics and "training/NAME" for losses and rates.
    """
    if "metrics" in entry:
        tagged = {f"evaluation/{name}": value for name, value in entry["metrics"].items()}
    else:
        tagged = {f"training/{name}": entry[name] for name in RATES if name in entry}
    return {name: float(value) for name, value in tagged.items()}


def make_recorders(
    history: History,
    updates: TrainingHyperparameters,
    saving: Saving,
    directory: RunDirectory,
    writes: bool,
    observers: Sequence[Callback],
) -> list[LoopCallback]:
    """Return the callback for history.jsonl, and those that read its lines.

    Args:
        updates: number of steps, and batch size.
        writes: whether this process writes files.
        observers: observers to inform.
    """
    recorders: list[LoopCallback] = [
        HistoryCallback(history, saving.log_steps, updates.steps, updates.batch_size, writes)
    ]
    if saving.tensorboard and writes:
        recorders.append(TensorBoardCallback(directory, history))
    if observers:
        recorders.append(ObserverCallback(observers, history, updates.steps))
    return recorders
