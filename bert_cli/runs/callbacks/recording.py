"""history.jsonl as a callback of the training."""

from collections.abc import Mapping
from typing import Any

from bert_cli.outputs.history import History, lines_each
from bert_cli.training.loop import Callback


class HistoryCallback(Callback):
    """Adds a line for each interval of training and for each evaluation."""

    def __init__(self, history: History, log_steps: int, steps: int, batch_size: int, writes: bool):
        """log_steps: of --log_steps; steps: of the whole training; writes: whether this process writes files."""
        self._history, self._writes = history, writes
        self._steps, self._batch_size = steps, batch_size
        self._every = lines_each(log_steps, steps)[1]

    def on_start(self) -> None:
        self._history.open(self._writes)

    def on_log(self, step: int, loss: float, rate: float) -> None:
        # The progress bar asks more often; a line between two intervals would make the mean loss start anew.
        if step % self._every == 0 or step == self._steps:
            self._history.add_training(step, loss, rate, self._batch_size)

    def on_evaluation(self, step: int, metrics: Mapping[str, Any]) -> None:
        self._history.add_evaluation(step, metrics)
