"""Evaluation of a trained model in float32 and in int8, on the data that its command evaluates."""

import contextlib
import dataclasses
from typing import Generic

from bert_cli.base.names import POSITIVE_LABEL
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.inference.rows import Predictor
from bert_cli.runs.evaluation import find_main_metric, log_int8_cost
from bert_cli.runs.tasks.interface import Data, Details, Model, Task
from bert_cli.runs.tasks.opening import open_trained_task
from bert_cli.settings.devices import FLOAT32, INT8, ONNXRUNTIME
from bert_cli.weights.path import CheckpointPath


class Int8Comparison(Generic[Model, Data, Details]):
    """A trained model with its evaluation data."""

    def __init__(self, task: Task[Model, Data, Details], checkpoint: CheckpointPath, stack: contextlib.ExitStack):
        """Read the model's files and the data; raise InputError if the data is missing or wrong.

        Args:
            task: the task, with the flag --do_eval.
            checkpoint: the trained model.
            stack: closes files that the dataset keeps open.
        """
        self._task = task
        self._model = task.load(checkpoint)
        self._data = task.read(self._model, stack)

    @property
    def sequences(self) -> list[RaggedFeatures]:
        """Return the token sequences of the evaluated splits."""
        splits = self._data.memory_splits
        return [splits[name].features.sequences for name in self._data.evaluation_splits if name in splits]

    def log_metric(self) -> None:
        """Evaluate in both precisions, and log the main metric."""
        task, data = self._task, self._data
        results = []
        for predictor in (self._open(FLOAT32), self._open(INT8)):
            with predictor.quietly():
                results.append(task.evaluate(predictor, data).results)
        before, after = results
        metric = find_main_metric(data, before.keys() & after.keys())
        label = str(data.facts().get(POSITIVE_LABEL, ""))
        log_int8_cost(task.command, metric, before, FLOAT32, after, label)

    def _open(self, precision: str) -> Predictor:
        settings = self._task.settings
        devices = dataclasses.replace(settings.devices, engine=ONNXRUNTIME, precision=precision)
        settings = dataclasses.replace(settings, devices=devices)
        return open_trained_task(self._task, self._model, self._data, settings)[0]
