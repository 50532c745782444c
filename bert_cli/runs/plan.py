"""The plan of a training run: all that decides it, before TensorFlow is imported."""

import dataclasses
from typing import Any

from bert_cli.base.names import BEST, BEST_FILE, EVAL_EXAMPLES, EVENTS, HISTORY, PAGE
from bert_cli.flags.option import deciding
from bert_cli.flags.saved import flags_to_save
from bert_cli.metrics.selection import find_metric
from bert_cli.outputs.history import History
from bert_cli.runs.callbacks.evaluation import BestEvaluation, interval
from bert_cli.runs.output_dir import run_folder
from bert_cli.runs.output_dir.manifest import COMMAND, PLAN_FROM, STEPS, plan_start, plan_warmup, read_manifest
from bert_cli.runs.tasks import controls
from bert_cli.runs.tasks.interface import Data, Model, Task
from bert_cli.settings.training import TrainingSettings
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.weights.training_folder import step_number


@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """manifest: for run.json; flags: for flags.txt. state: prefix of the checkpoint that the run goes on from, or None.

    history: of the steps up to there. metric: by which the run is compared with others. best: how evaluations during training
    are compared, None where there are none. files: names of what the run writes besides the files of every run.
    """

    updates: TrainingHyperparameters
    manifest: dict[str, Any]
    flags: dict[str, str]
    labels: tuple[str, ...] | None
    class_weights: tuple | None
    state: str | None
    history: History
    best: BestEvaluation | None
    metric: str
    files: tuple[str, ...]

    @property
    def done(self) -> int:
        """Steps that earlier calls have trained."""
        return step_number(self.state) if self.state else 0

    @property
    def finished(self) -> str | None:
        """The last checkpoint where nothing is left to train, else None."""
        is_stopped = self.best is not None and self.best.is_stopped
        return self.state if self.state and (is_stopped or self.done >= self.updates.steps) else None


def plan_training(task: Task[Model, Data], model: Model, data: Data, settings: TrainingSettings) -> TrainingPlan:
    """InputError where output_dir holds another run."""
    plan, phases, watching, training = task.plan(model, data), settings.phases, settings.watching, settings.training
    metric, names = find_metric(watching.metric_for_best, data.metrics), _files(data, settings)
    # All that decides the result of training: a run with another manifest is another run.
    manifest = {COMMAND: task.command} | deciding(settings) | plan.decided
    manifest |= run_folder.model_manifest(model.config, model.vocab_file, model.checkpoint)
    manifest |= {STEPS: plan.steps, PLAN_FROM: 0}
    state = run_folder.find_state(
        phases.output_dir,
        manifest,
        phases.overwrite_output_dir,
        model.checkpoint,
        names,
        deciding(type(settings)()),
        settings.model.strict,
    )
    done = step_number(state) if state else 0
    first = plan_start((read_manifest(phases.output_dir) or {}) if state else {}, plan.steps, done)
    history, best = History(phases.output_dir, done), None
    if watching.eval_every:
        every = interval(watching.eval_every, plan.examples, training.train_batch_size)
        best = BestEvaluation(metric, every, watching.early_stopping_patience, first, history)
    updates = TrainingHyperparameters(
        steps=plan.steps,
        warmup_steps=plan_warmup(plan.warmup_steps, plan.steps, first),
        learning_rate=training.learning_rate,
        batch_size=training.train_batch_size,
        random_seed=settings.seed.random_seed,
        bias_correction=plan.bias_correction,
        first_step=first,
        **controls.update_rules(settings),
    )
    return TrainingPlan(
        updates=updates,
        manifest=manifest | {PLAN_FROM: first},
        flags=flags_to_save(settings, plan.found),
        labels=plan.labels,
        class_weights=plan.class_weights,
        state=state,
        history=history,
        best=best,
        metric=metric,
        files=names,
    )


def _files(data: Data, settings: TrainingSettings) -> tuple[str, ...]:
    best = (BEST, BEST_FILE) if settings.watching.eval_every else ()
    events = (EVENTS,) if settings.saving.tensorboard else ()
    return (*data.prediction_files, *data.evaluation_files, EVAL_EXAMPLES, HISTORY, PAGE, *best, *events)
