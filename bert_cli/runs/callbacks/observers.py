"""Observers of a training: callbacks of Python programs, and experiment trackers.

class Stop(bert_cli.Callback):
    def on_evaluate(self, step, metrics):
        if metrics["eval_accuracy"] > 0.9:
            self.stop()

Classifier.fit(texts, labels, dev_split=0.1, eval_every="epoch", callbacks=[Stop()])
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from bert_cli.base.log import LOG
from bert_cli.outputs.history import RATES, History
from bert_cli.training import loop


class Callback:
    """An observer of a training, with methods to override.

    An exception in a method ends the training and reaches the caller. With several processes, each
    calls its own observers, and all must stop at the same step.

    Attributes:
        is_stopped: whether `stop` was called since the training started.
    """

    is_stopped = False

    def on_start(self, steps: int) -> None:
        """Prepare for a training.

        Args:
            steps: number of steps in the whole training.
        """

    def on_log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Receive the progress, as often as history.jsonl gets a line.

        Args:
            step: number of finished steps.
            metrics: loss, learning_rate and examples_per_second of the steps since the last call.
        """

    def on_evaluate(self, step: int, metrics: Mapping[str, float]) -> None:
        """Receive the metrics of an evaluation, during training (`eval_every`) or at its end.

        Args:
            step: step of the evaluated weights.
            metrics: metrics by their names in eval_results.txt.
        """

    def on_end(self, report: Mapping[str, Any]) -> None:
        """Receive the content of run_report.json, after evaluation and prediction."""

    def stop(self) -> None:
        """End the training at this step. Its weights are saved, evaluated and used."""
        self.is_stopped = True


class Observation(loop.Callback):
    """Passes the history's new lines to observers; call HistoryCallback first, which adds them."""

    def __init__(self, observers: Sequence[Callback], history: History, steps: int):
        """Keep the observers.

        Args:
            observers: objects to inform, in order.
            history: the run's history.
            steps: number of steps in the whole training.
        """
        self._observers = observers
        self._history = history
        self._steps = steps
        self._passed = 0

    def on_start(self) -> None:
        self._passed = len(self._history.entries)
        for observer in self._observers:
            observer.is_stopped = False
            observer.on_start(self._steps)

    def on_log(self, step: int, loss: float, rate: float) -> bool:
        return self._pass_new(step)

    def on_evaluation(self, step: int, metrics: Mapping[str, Any]) -> bool:
        return self._pass_new(step)

    def _pass_new(self, step: int) -> bool:
        """Pass lines on, and return whether an observer has stopped the training."""
        entries = self._history.entries[self._passed :]
        self._passed = len(self._history.entries)
        for entry in entries:
            for observer in self._observers:
                if "metrics" in entry:
                    observer.on_evaluate(entry["step"], entry["metrics"])
                else:
                    numbers = cast(Mapping[str, float], entry)
                    observer.on_log(entry["step"], {name: numbers[name] for name in RATES if name in numbers})
        is_stopped = any(observer.is_stopped for observer in self._observers)
        if is_stopped and entries and step < self._steps:
            LOG.info("a callback stopped the training at step %d", step)
        return is_stopped
