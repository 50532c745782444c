"""Evaluation during training, the best checkpoint in best/, and early stopping.

All that is decided follows from the evaluations in history.jsonl, which a run that goes on cuts
back to the step of its checkpoint: the best evaluation up to there, and how many came after it, are
found again exactly. best/ keeps the checkpoint that was best at the newest regular checkpoint as
well as a later best one, until a regular one is saved after it; so a run that is killed between the
two finds the checkpoint that it needs.
"""

import dataclasses
import math
import os
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.names import BEST, CHECKPOINT
from bert_cli.metrics.regression import CORRELATIONS
from bert_cli.metrics.selection import Selection, select
from bert_cli.outputs.history import History, plain_number
from bert_cli.runs.output_dir import best_checkpoint
from bert_cli.settings.training import EPOCH
from bert_cli.training.loop import Callback
from bert_cli.weights.path import find_checkpoint
from bert_cli.weights.training_folder import latest_checkpoint, numbered_checkpoints, step_number

if TYPE_CHECKING:
    from bert_cli.runs.engine.session import Session

_SHOWN = 4  # metrics in the line of an evaluation


def interval(eval_every: str, examples: int, batch_size: int) -> Fraction:
    """Steps from one evaluation to the next; examples: in one pass over the data, 0 where there are
    no passes.
    """
    if eval_every != EPOCH:
        return Fraction(int(eval_every))
    if not examples:
        raise InputError(f"--eval_every={EPOCH}: this training has no epochs; give a number of steps")
    return Fraction(examples, batch_size)


@dataclasses.dataclass(frozen=True)
class BestEvaluation:
    """Which evaluation of a run is the best one, by its history.

    metric: by which evaluations are compared. every: steps between two of them. patience: of
    --early_stopping_patience, 0 for none. first_step: where a finished training was extended;
    patience is counted from there.
    """

    metric: str
    every: Fraction
    patience: int
    first_step: int
    history: History

    def count(self, steps: int) -> int:
        """The number of evaluations during `steps` steps."""
        return math.ceil(steps / self.every)

    def find(self, last: int | None = None) -> Selection | None:
        """The best of the evaluations up to the step `last`, None for all; None where there is
        none.
        """
        evaluations = self.history.evaluations
        known = [(step, self.value(metrics)) for step, metrics in evaluations if last is None or step <= last]
        return select(self.metric, known, self.first_step)

    def value(self, metrics: Mapping[str, Any]) -> float:
        """Return the metric of an evaluation, NaN if equal predictions left it undefined.

        Raises:
            InputError: the evaluated data does not define the metric.
        """
        # TrainingPlan refuses data that defines no correlation, so here the predictions are the reason.
        if self.metric not in metrics and self.metric in CORRELATIONS:
            return math.nan
        if self.metric not in metrics:
            raise InputError(
                f"--metric_for_best={self.metric}: is not defined on the data that is evaluated, "
                f"which gives {', '.join(metrics)}; give one of them"
            )
        return metrics[self.metric]

    @property
    def is_stopped(self) -> bool:
        """Whether there were as many evaluations without a better one as --early_stopping_patience
        allows.
        """
        best = self.find()
        # Without a best evaluation yet, all of them count, as if the first one were the best.
        waited = best.waited if best else sum(step > self.first_step for step, _ in self.history.evaluations) - 1
        return bool(self.patience and waited >= self.patience)


@dataclasses.dataclass(eq=False)
class EvaluationCallback(Callback):
    """Evaluates every N steps, and passes the metrics on to the callbacks `listeners`, in their
    order.
    """

    best: BestEvaluation
    evaluate: Callable[[], Mapping[str, Any]]
    session: "Session"
    listeners: Sequence[Callback]

    def __post_init__(self) -> None:
        self.every = self.best.every

    def on_step(self, step: int) -> bool:
        with self.best.history.pausing(), self.session.quietly():
            metrics = self.evaluate()
            self.best.value(metrics)  # before anything is written
            stops = [listener.on_evaluation(step, metrics) for listener in self.listeners]
        return any(stops)


class BestCheckpoint(Callback):
    """Keeps the best checkpoint in best/ of the run's folder. It reads the history, so the
    history's callback comes first.
    """

    def __init__(self, best: BestEvaluation, session: "Session", folder: str):
        self._best = best
        self._session = session
        self._folder = folder
        self._held: dict[str, Any] | None = None  # best weights, in a process that writes no files

    def on_evaluation(self, step: int, metrics: Mapping[str, Any]) -> None:
        best = self._best.find()
        is_best = best is not None and best.step == step
        metric = self._best.metric
        names = [
            name for name in sorted(metrics, key=lambda name: name != metric) if not isinstance(metrics[name], int)
        ]
        shown = "  ".join(f"{name} {plain_number(metrics[name]):.6g}" for name in names[:_SHOWN])
        LOG.info(
            "evaluation at step %d  %s%s%s", step, shown,
            "" if metric in metrics else f"  ({metric} is undefined: all predictions are equal)",
            "  (the best so far)" if is_best else "",
        )  # fmt: skip
        if best is None or not is_best:
            return
        if self._session.is_chief:
            self._save(step)
            self._write_choice(best)
        else:
            self._held = self._session.weights(step)

    def _save(self, step: int) -> None:
        """Save the weights into best/; what a kill would need from there stays."""
        from bert_cli.training.checkpoints import save_checkpoint  # imports TensorFlow

        save_checkpoint(best_checkpoint.prepare(self._folder), step, self._session.weights(step), keep=0)
        saved = latest_checkpoint(self._folder)
        before = self._best.find(step_number(saved)) if saved else None
        best_checkpoint.keep_steps(self._folder, {step, before.step} if before else {step})

    def _write_choice(self, found: Selection) -> None:
        best_checkpoint.write_choice(self._folder, BEST, self._facts(found))

    def _facts(self, found: Selection) -> dict[str, Any]:
        return {"step": found.step, "metric": self._best.metric, "value": found.value}

    def settle(self) -> None:
        """Bring best/ to what the history says: the best checkpoint alone. To be called where the
        history stops or goes on.

        InputError where that checkpoint is not there.
        """
        found = self._best.find()
        if found is None:
            best_checkpoint.remove(self._folder)
            return
        folder = os.path.join(self._folder, BEST)
        if found.step not in numbered_checkpoints(folder):
            raise InputError(
                f"{folder}: lacks {CHECKPOINT}{found.step}, the best checkpoint of this run; "
                "restore it, or start again with --overwrite_output_dir"
            )
        best_checkpoint.name_step(self._folder, found.step)
        best_checkpoint.keep_steps(self._folder, {found.step})
        self._write_choice(found)

    @property
    def has_best(self) -> bool:
        """Return whether an evaluation has a defined metric, so that there is a best checkpoint."""
        return self._best.find() is not None

    def load(self, last_step: int) -> dict[str, Any]:
        """Load the best weights, and return entries of the report, `global_step` among them.

        The weights of `last_step` stay if no evaluation defines the metric.
        """
        found = self._best.find()
        if found is None:
            LOG.warning(
                "warning: no evaluation defines %s, as all predictions were equal: the last checkpoint "
                "is kept instead of the best one",
                self._best.metric,
            )
            return {"global_step": last_step}
        if self._held is None:
            path = os.path.join(self._folder, BEST, f"{CHECKPOINT}{found.step}")
            self._session.load_trained(find_checkpoint(path))
        else:  # the chief may not have written it yet
            self._session.set_weights(self._held)
        return {"global_step": found.step, "best": self._facts(found)}


class EarlyStopping(Callback):
    """Stops the training after --early_stopping_patience evaluations without a better one."""

    def __init__(self, best: BestEvaluation, steps: int):
        """steps: of the whole training."""
        self._best = best
        self._steps = steps

    def on_evaluation(self, step: int, metrics: Mapping[str, Any]) -> bool:
        is_stopped = self._best.is_stopped
        if is_stopped and step < self._steps:
            metric, patience = self._best.metric, self._best.patience
            LOG.info("no better %s in %d evaluations: training stops at step %d", metric, patience, step)
        return is_stopped
