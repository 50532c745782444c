"""history.jsonl once more, as TensorBoard reads it: one file of scalars in the run's folder, with the same steps and numbers.

TensorFlow itself writes it, so that only who looks at it needs the package tensorboard. As the history is cut back to where a
run goes on from, the file is written anew then. What stands in output_dir/run-1 and the like is a run of its own there.
"""

import os
import time
from collections.abc import Iterable, Mapping
from typing import Any

from bert_cli.base.names import EVENTS

_VERSION = "brain.Event:2"  # which TensorBoard wants in the first event
_RATES = ("loss", "learning_rate", "examples_per_second")


class Events:
    """The file of one run; a mirror of outputs.history.History. Nothing is written before `open`. Imports TensorFlow."""

    def __init__(self, folder: str):
        self._path = os.path.join(folder, EVENTS)
        self._began = 0.0
        self._writer: Any = None

    def open(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Write all lines of a history up to now, each at the time that its `seconds` tell."""
        import tensorflow as tf

        known = list(entries)
        self._began = time.time() - (known[-1].get("seconds", 0.0) if known else 0.0)
        self._writer = tf.io.TFRecordWriter(self._path)
        first = tf.compat.v1.Event(wall_time=self._began, file_version=_VERSION)
        self._writer.write(first.SerializeToString())
        for entry in known:
            self._write(entry)
        self._writer.flush()

    def add(self, entry: Mapping[str, Any]) -> None:
        """Write one line more, which is on its way to the disk when this returns."""
        self._write(entry)
        self._writer.flush()

    def _write(self, entry: Mapping[str, Any]) -> None:
        import tensorflow as tf

        event = tf.compat.v1.Event(wall_time=self._began + entry.get("seconds", 0.0), step=entry["step"])
        for tag, value in scalars(entry).items():
            event.summary.value.add(tag=tag, simple_value=value)
        self._writer.write(event.SerializeToString())


def scalars(entry: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a line of history.jsonl by what TensorBoard calls them: evaluation/… and training/…."""
    if "metrics" in entry:
        named = {f"evaluation/{name}": value for name, value in entry["metrics"].items()}
    else:
        named = {f"training/{name}": entry[name] for name in _RATES if name in entry}
    return {name: float(value) for name, value in named.items()}
