"""Evaluation during training, the best checkpoint in best/, and early stopping.

All decisions use the evaluations in history.jsonl. When a run is resumed, it cuts the history back
to its checkpoint's step, so it finds the same best evaluation again.

best/ may hold two checkpoints: the best one at the newest regular checkpoint, and a later best one.
If the run is killed before the next regular checkpoint, it resumes from the newest one and needs
the former.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import LOG
from bert_cli.base.names import CHECKPOINT
from bert_cli.inference.rows import Predictor, load_trained
from bert_cli.metrics.classification import CORRELATIONS
from bert_cli.metrics.selection import Metric, Selection, select
from bert_cli.outputs.history import History, plain_number
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.settings.training import EPOCH
from bert_cli.training.loop import CallbackCalls, CallbackError, LoopCallback
from bert_cli.weights.path import find_checkpoint
from bert_cli.weights.training_folder import step_number

if TYPE_CHECKING:
    from bert_cli.inference.tensorflow import TensorFlowEngine

_MAX_SHOWN = 4  # metrics in an evaluation's log line


def evaluation_interval(eval_every: str, examples: int, batch_size: int) -> Fraction:
    """Return the number of steps between two evaluations.

    Args:
        eval_every: flag value, a number of steps or EPOCH.
        examples: examples in one pass over the data.
        batch_size: examples per step.
    """
    if eval_every != EPOCH:
        return Fraction(int(eval_every))
    return Fraction(examples, batch_size)


@dataclasses.dataclass(frozen=True)
class BestEvaluation:
    """Choice of a run's best evaluation, from its history.

    Attributes:
        metric: metric that ranks evaluations.
        every: steps between two evaluations.
        patience: value of --early_stopping_patience; 0 to never stop early.
        first_step: step at which a finished training was extended, or 0. Only later evaluations
            use up patience.
        history: the run's history.
    """

    metric: str
    every: Fraction
    patience: int
    first_step: int
    history: History

    def count(self, steps: int) -> int:
        """Return the number of evaluations during `steps` steps."""
        return math.ceil(steps / self.every)

    def find(self, last: int | None = None) -> Selection | None:
        """Return the best evaluation; None if no evaluation defines the metric.

        Args:
            last: last step to consider; None for all.
        """
        evaluations = self.history.evaluations
        values = [(step, self.value(metrics)) for step, metrics in evaluations if last is None or step <= last]
        return select(self.metric, values, self.first_step)

    def value(self, metrics: Mapping[str, Metric]) -> float:
        """Return an evaluation's metric; NaN if it is undefined because predictions are equal.

        Raises:
            InputError: if the evaluated data does not define the metric.
        """
        # plan_training refuses data without a correlation, so the predictions must be the reason.
        if self.metric not in metrics and self.metric in CORRELATIONS:
            return math.nan
        if self.metric not in metrics:
            raise InputError(
                f"--metric_for_best={self.metric}: is not defined on the data that is evaluated, "
                f"which gives {', '.join(metrics)}; give one of them"
            )
        return float(metrics[self.metric])

    @property
    def is_stopped(self) -> bool:
        """Return whether the last `patience` evaluations were not better than an earlier one."""
        selection = self.find()
        # If there is no best evaluation yet, count all, as if the first one were the best.
        waited = (
            selection.waited if selection else sum(step > self.first_step for step, _ in self.history.evaluations) - 1
        )
        return bool(self.patience and waited >= self.patience)


@dataclasses.dataclass(eq=False)
class EvaluationCallback(LoopCallback):
    """Evaluates during training, and passes the metrics to other callbacks.

    Attributes:
        best: choice of the best evaluation, with the interval.
        evaluate: returns the metrics.
        predictor: the model.
        listeners: callbacks that receive the metrics, in order.
    """

    best: BestEvaluation
    evaluate: Callable[[], Mapping[str, Metric]]
    predictor: Predictor
    listeners: Sequence[LoopCallback]

    def __post_init__(self) -> None:
        self.every = self.best.every

    def on_step(self, step: int) -> bool:
        calls = CallbackCalls()
        with self.best.history.pausing(), self.predictor.quietly():
            try:
                metrics = self.evaluate()
                self.best.value(metrics)  # raises before anything is written
            except Exception as error:
                raise CallbackError(error, f"in the evaluation at step {step}") from error
            for listener in self.listeners:
                calls.add(listener.on_evaluation, step, metrics)
        if calls.failure and calls.failure.later_error:
            # The best checkpoint is missing, so a run could not resume from this step.
            raise calls.failure.later_error
        return calls.is_any_true()

    def is_missing(self, step: int, last_step: int) -> bool:
        """Return whether a run that resumes at `step` must evaluate there, because that failed.

        Args:
            step: step of the checkpoint; 0 for a new run.
            last_step: number of steps in the whole training.
        """
        is_due = step > 0 and (step == last_step or self.is_due(step))
        return is_due and step not in (evaluated_step for evaluated_step, _ in self.best.history.evaluations)


class BestCheckpoint(LoopCallback):
    """Keeps the best checkpoint in best/. It reads the history, so call HistoryCallback first."""

    def __init__(self, best: BestEvaluation, engine: "TensorFlowEngine", directory: RunDirectory):
        self._best = best
        self._engine = engine
        self._directory = directory
        self._best_weights: dict[str, np.ndarray] | None = None  # in a process that writes no files

    def on_evaluation(self, step: int, metrics: Mapping[str, Metric]) -> None:
        selection = self._best.find()
        is_best = selection is not None and selection.step == step
        metric = self._best.metric
        names = [
            name for name in sorted(metrics, key=lambda name: name != metric) if not isinstance(metrics[name], int)
        ]
        metric_texts = "  ".join(f"{name} {plain_number(metrics[name]):.6g}" for name in names[:_MAX_SHOWN])
        LOG.info(
            "evaluation at step %d  %s%s%s", step, metric_texts,
            "" if metric in metrics else f"  ({metric} is undefined: all predictions are equal)",
            "  (the best so far)" if is_best else "",
        )  # fmt: skip
        if selection is None or not is_best:
            return
        if self._engine.is_chief:
            self._save(step)
            self._write_choice(selection)
        else:
            self._best_weights = self._engine.weights(step)

    def _save(self, step: int) -> None:
        """Save the weights into best/, and keep the checkpoint that a killed run would need."""
        # Import late: it imports TensorFlow.
        from bert_cli.training.checkpoints import save_checkpoint

        best = self._directory.best
        best.prepare()
        save_checkpoint(best.path, step, self._engine.weights(step), keep=0)
        saved = self._directory.newest_checkpoint
        previous = self._best.find(step_number(saved)) if saved else None
        best.keep_steps({step, previous.step} if previous else {step})

    def _write_choice(self, selection: Selection) -> None:
        self._directory.best.write_choice(self.facts(selection))

    def facts(self, selection: Selection) -> JsonObject:
        """Return entries for best.json and the report."""
        return {"step": selection.step, "metric": self._best.metric, "value": selection.value}

    def settle(self) -> None:
        """Leave only the history's best checkpoint in best/, when a run ends or is resumed.

        Raises:
            InputError: if that checkpoint is missing.
        """
        selection = self._best.find()
        best = self._directory.best
        if selection is None:
            best.remove()
            return
        if selection.step not in best.steps:
            raise InputError(
                f"{best.path}: lacks {CHECKPOINT}{selection.step}, the best checkpoint of this run; "
                "restore it, or start again with --overwrite_output_dir"
            )
        best.name_step(selection.step)
        best.keep_steps({selection.step})
        self._write_choice(selection)

    @property
    def has_best(self) -> bool:
        """Return whether an evaluation has a defined metric, so that there is a best checkpoint."""
        return self._best.find() is not None

    def load(self) -> Selection | None:
        """Load the best weights, and return their evaluation.

        If no evaluation defines the metric, return None and keep the last weights.
        """
        selection = self._best.find()
        if selection is None:
            LOG.warning(
                "warning: no evaluation defines %s, as all predictions were equal: the last checkpoint "
                "is kept instead of the best one",
                self._best.metric,
            )
            return None
        if self._best_weights is None:
            load_trained(self._engine, find_checkpoint(self._directory.best.prefix(selection.step)))
        else:  # the chief may not have written the checkpoint yet
            self._engine.set_weights(self._best_weights)
        return selection


class EarlyStopping(LoopCallback):
    """Stops the training after --early_stopping_patience evaluations without a better one."""

    def __init__(self, best: BestEvaluation, steps: int):
        """Watch the evaluations; `steps` is the number of steps in the whole training."""
        self._best = best
        self._steps = steps

    def on_evaluation(self, step: int, metrics: Mapping[str, Metric]) -> bool:
        is_stopped = self._best.is_stopped
        if is_stopped and step < self._steps:
            metric, patience = self._best.metric, self._best.patience
            LOG.info("no better %s in %d evaluations: training stops at step %d", metric, patience, step)
        return is_stopped
