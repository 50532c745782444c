"""An eye on training: evaluations on the way, the best checkpoint in best/, and an early end.

All that is decided follows from the evaluations in history.jsonl, which a run that goes on cuts back to the step of its
checkpoint: what was the best one up to there, and for how long there was no better one, is found again exactly. best/ keeps the
best checkpoint as of the newest regular one beside a later best one, until a regular one is saved after it; so a run that is
killed between the two finds the one that it needs.
"""

import logging
import math
import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from bert_cli.base.errors import InputError
from bert_cli.base.names import BEST, CHECKPOINT
from bert_cli.metrics.selection import Selection, select
from bert_cli.outputs.history import History, plain_number
from bert_cli.runs.output_dir import best_checkpoint
from bert_cli.settings.early_stopping import EPOCH, Watching
from bert_cli.training.loop import Hook
from bert_cli.weights.path import find_checkpoint, latest_checkpoint, numbered_checkpoints, step_number

if TYPE_CHECKING:
    from bert_cli.runs.engine.session import Session

LOG = logging.getLogger("bert_cli")
_SHOWN = 4  # metrics in the line of an evaluation


def interval(eval_every: str, examples: int, batch_size: int) -> Fraction:
    """Steps from one evaluation to the next; examples: in one pass over the data, 0 where there are no passes."""
    if eval_every != EPOCH:
        return Fraction(int(eval_every))
    if not examples:
        raise InputError(f"--eval_every={EPOCH}: this training has no epochs; give a number of steps")
    return Fraction(examples, batch_size)


class Watch:
    """The evaluations of one training run, and what follows from them. `metric`: by which they are compared."""

    def __init__(
        self,
        watching: Watching,
        metric: str,
        every: Fraction,
        first_step: int,
        folder: str,
        history: History,
    ):
        """every: steps, see `interval`. first_step: where the training was made longer; patience is counted from there."""
        self.metric = metric
        self._patience, self._every, self._first_step = watching.early_stopping_patience, every, first_step
        self._folder, self._history = folder, history
        self._held: dict[str, Any] | None = None  # best weights, in a process that writes no files

    def evaluations(self, steps: int) -> int:
        """How many there are on the way through so many steps."""
        return math.ceil(steps / self._every)

    def selection(self, last: int | None = None) -> Selection | None:
        """The best of the evaluations up to the step `last`, None for all; None where there is none."""
        found = [
            (step, self._value(metrics)) for step, metrics in self._history.evaluations if last is None or step <= last
        ]
        return select(self.metric, found, self._first_step)

    def _value(self, metrics: Mapping[str, Any]) -> float:
        if self.metric not in metrics:
            raise InputError(
                f"--metric_for_best={self.metric}: is not defined on the data that is evaluated, which gives "
                f"{', '.join(metrics)}; give one of them"
            )
        return metrics[self.metric]

    @property
    def is_stopped(self) -> bool:
        """Whether there were as many evaluations without a better one as --early_stopping_patience allows."""
        found = self.selection()
        return bool(self._patience and found and found.waited >= self._patience)

    def settle(self) -> None:
        """Bring best/ to what the history says: the best checkpoint alone. To be called where the history stops or goes on.

        InputError where that checkpoint is not there.
        """
        found = self.selection()
        if found is None:
            best_checkpoint.remove(self._folder)
            return
        best = os.path.join(self._folder, BEST)
        if found.step not in numbered_checkpoints(best):
            raise InputError(
                f"{best}: lacks {CHECKPOINT}{found.step}, the best checkpoint of this run; restore it, or start anew with "
                "--overwrite_output_dir"
            )
        best_checkpoint.name_step(self._folder, found.step)
        best_checkpoint.keep_steps(self._folder, {found.step})
        self._write_choice(found)

    def _write_choice(self, found: Selection) -> None:
        facts = {"step": found.step, "metric": self.metric, "value": found.value}
        best_checkpoint.write_choice(self._folder, BEST, facts)

    def hook(self, evaluate: Callable[[], Mapping[str, Any]], session: "Session", steps: int) -> Hook:
        """The hook of a training loop of so many steps; evaluate() -> metrics by name."""

        def call(step: int) -> bool:
            with self._history.pausing(), session.quietly():
                self._evaluated(step, evaluate(), session)
            if self.is_stopped and step < steps:
                LOG.info("no better %s in %d evaluations: training stops at step %d", self.metric, self._patience, step)
            return self.is_stopped

        return Hook(self._every, call)

    def _evaluated(self, step: int, metrics: Mapping[str, Any], session: "Session") -> None:
        self._value(metrics)  # before anything is written
        self._history.add_evaluation(step, metrics)
        found = self.selection()
        assert found is not None, "there is an evaluation now"
        is_best = found.step == step
        names = [name for name in dict.fromkeys([self.metric, *metrics]) if not isinstance(metrics[name], int)][:_SHOWN]
        shown = "  ".join(f"{name} {plain_number(metrics[name]):.6g}" for name in names)
        LOG.info("evaluation at step %d  %s%s", step, shown, "  (the best so far)" if is_best else "")
        if is_best and session.is_chief:
            self._save(step, session)
            self._write_choice(found)
        elif is_best:
            self._held = session.weights(step)

    def _save(self, step: int, session: "Session") -> None:
        """Save the weights into best/; what a kill would need from there stays."""
        from bert_cli.training.checkpoints import save_checkpoint  # imports TensorFlow

        save_checkpoint(best_checkpoint.prepare(self._folder), step, session.weights(step), keep=0)
        saved = latest_checkpoint(self._folder)
        before = self.selection(step_number(saved)) if saved else None
        best_checkpoint.keep_steps(self._folder, {step, before.step} if before else {step})

    def load_best(self, session: "Session") -> dict[str, Any]:
        """Take the best weights; returns entries of the report, `global_step` among them."""
        found = self.selection()
        assert found is not None, "the last step of a training is evaluated"
        if self._held is None:
            session.load_trained(find_checkpoint(os.path.join(self._folder, BEST, f"{CHECKPOINT}{found.step}")))
        else:  # the chief may not have written it yet
            session.set_weights(self._held)
        best = {"step": found.step, "metric": self.metric, "value": found.value}
        return {"global_step": found.step, "best": best}
