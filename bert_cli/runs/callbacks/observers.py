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
from bert_cli.outputs.history import RATES, History, HistoryEntry
from bert_cli.training import loop
from bert_cli.training.loop import CallbackCalls, CallbackError, unwrapping_callback_errors


class Callback:
    """An observer of a training, with methods to override.

    An exception in a method ends the training and reaches the caller, after the state was saved if
    there is an `output_dir`. With several processes, each calls its own observers, and all must stop
    at the same step.

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


class ObserverCallback(loop.LoopCallback):
    """Passes the history's new lines to observers; call HistoryCallback first, which adds them."""

    def __init__(self, observers: Sequence[Callback], history: History, steps: int):
        """Keep the observers.

        Args:
            observers: objects to inform, in order.
            steps: number of steps in the whole training.
        """
        self._observers = observers
        self._history = history
        self._steps = steps
        self._passed = len(history.entries)

    def on_start(self) -> None:
        for observer in self._observers:
            observer.is_stopped = False
            with unwrapping_callback_errors():
                _notify(observer, "on_start", self._steps)

    def on_log(self, step: int, loss: float, rate: float) -> bool:
        return self._pass_new(step)

    def on_evaluation(self, step: int, metrics: Mapping[str, Any]) -> bool:
        return self._pass_new(step)

    def _pass_new(self, step: int) -> bool:
        """Pass lines on, and return whether an observer has stopped the training."""
        entries = self._history.entries[self._passed :]
        self._passed = len(self._history.entries)
        calls = CallbackCalls()
        for entry in entries:
            for observer in self._observers:
                calls.add(_pass_entry, observer, entry)
        calls.is_any_true()
        is_stopped = any(observer.is_stopped for observer in self._observers)
        if is_stopped and entries and step < self._steps:
            LOG.info("a callback stopped the training at step %d", step)
        return is_stopped


def end_observers(observers: Sequence[Callback], report: Mapping[str, Any]) -> None:
    """Call `on_end` of all observers; then raise the first error."""
    calls = CallbackCalls()
    for observer in observers:
        calls.add(_notify, observer, "on_end", report)
    with unwrapping_callback_errors():
        calls.is_any_true()


def _pass_entry(observer: Callback, entry: HistoryEntry) -> None:
    step = entry["step"]
    if "metrics" in entry:
        _notify(observer, "on_evaluate", step, entry["metrics"], moment=f" at step {step}")
    else:
        numbers = cast(Mapping[str, float], entry)
        rates = {name: numbers[name] for name in RATES if name in numbers}
        _notify(observer, "on_log", step, rates, moment=f" at step {step}")


def _notify(observer: Callback, method: str, *arguments: Any, moment: str = "") -> None:
    """Call a method of an observer; raise CallbackError if it fails."""
    try:
        getattr(observer, method)(*arguments)
    except Exception as error:
        raise CallbackError(error, f"in {type(observer).__qualname__}.{method}{moment}") from error
