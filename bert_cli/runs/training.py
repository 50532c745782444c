"""The training phase of a run: the plan, made without TensorFlow, and the training itself."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.names import BEST, BEST_FILE, EVAL_EXAMPLES, EVENTS, FLAGS, HISTORY, PAGE, VOCABULARY
from bert_cli.flags.option import deciding_values
from bert_cli.flags.saved import flags_to_save, write_flags
from bert_cli.metrics.selection import find_metric
from bert_cli.outputs.history import History
from bert_cli.report import page
from bert_cli.runs.callbacks.evaluation import (
    BestCheckpoint,
    BestEvaluation,
    EarlyStopping,
    EvaluationCallback,
    evaluation_interval,
)
from bert_cli.runs.callbacks.recording import HistoryCallback, TensorBoardCallback
from bert_cli.runs.engine.predictor import Predictor
from bert_cli.runs.learning_checks import loss_warning
from bert_cli.runs.resuming import same_command, to_resume
from bert_cli.runs.run_directory.directory import RunDirectory
from bert_cli.runs.run_directory.manifest import (
    COMMAND,
    OVERWRITING,
    PLAN_FROM,
    STEPS,
    STOPPED,
    model_manifest,
    schedule_start,
    schedule_warmup,
)
from bert_cli.runs.tasks import controls
from bert_cli.runs.tasks.dataset import Dataset
from bert_cli.runs.tasks.interface import Data, Model, Plan, Recipe, Task
from bert_cli.runs.tasks.opening import open_session
from bert_cli.runtime.process import PROCESS
from bert_cli.settings.training import EarlyStoppingFlags, TrainingSettings
from bert_cli.training.loop import Callback
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.weights.path import find_checkpoint
from bert_cli.weights.training_folder import step_number

if TYPE_CHECKING:
    from bert_cli.runs.engine.session import Session


@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """Everything that is decided about a training before TensorFlow is imported.

    Attributes:
        manifest, flags: contents of run.json and flags.txt.
        state: checkpoint prefix to resume from; None for a new run.
        history: history up to that checkpoint.
        best: choice of the best evaluation; None without evaluations during training.
        metric: metric that ranks this run among other runs.
        files: names of files that are specific to the task and the flags.
        rerun: the command or call that resumes the run after a signal; "" if nothing is kept then.
    """

    task_plan: Plan
    updates: TrainingHyperparameters
    manifest: dict[str, Any]
    flags: dict[str, str]
    state: str | None
    history: History
    best: BestEvaluation | None
    metric: str
    files: tuple[str, ...]
    rerun: str

    @property
    def done_steps(self) -> int:
        """Return the number of steps that earlier calls have trained."""
        return step_number(self.state) if self.state else 0

    @property
    def finished_checkpoint(self) -> str | None:
        """Return the last checkpoint if training is finished, otherwise None."""
        is_stopped = self.best is not None and self.best.is_stopped
        return self.state if self.state and (is_stopped or self.done_steps >= self.updates.steps) else None


def plan_training(
    task: Task[Model, Data], model: Model, data: Data, recipe: Recipe, rerun: str | None = None
) -> TrainingPlan:
    """Plan the training, and raise InputError if output_dir holds another run.

    Args:
        task, model, data: the task, its model and its data.
        recipe: learning rate and epochs.
        rerun: see driver.run.
    """
    settings: TrainingSettings = task.settings
    plan = task.plan(model, data, recipe)
    resolved_flags = recipe.flag_values(settings) | plan.resolved_flags
    phases, early_stopping, training = settings.phases, settings.early_stopping, settings.training
    metric = _find_metric(early_stopping, data)
    names = _files(data, settings)
    directory = RunDirectory(phases.output_dir)
    # The manifest has everything that decides the result. A run with another manifest is another
    # run.
    manifest = {COMMAND: task.command} | deciding_values(settings) | recipe.flag_values(settings)
    manifest |= plan.deciding_values
    tokenizer = model.tokenizer_settings.facts() if model.optional_vocabulary else {}
    vocabulary = model.tokenizer_files.get(VOCABULARY)
    manifest |= model_manifest(model.config, vocabulary, tokenizer, model.checkpoint)
    manifest |= {STEPS: plan.steps, PLAN_FROM: 0}
    manifest |= {OVERWRITING: True} if phases.overwrite_output_dir else {}
    state = to_resume(settings, manifest, model.checkpoint, names)
    done_steps = step_number(state) if state else 0
    first_step = schedule_start((directory.manifest or {}) if state else {}, plan.steps, done_steps)
    history = History(phases.output_dir, done_steps)
    best = None
    if early_stopping.eval_every:
        every = evaluation_interval(early_stopping.eval_every, plan.examples, training.train_batch_size)
        best = BestEvaluation(metric, every, early_stopping.early_stopping_patience, first_step, history)
    updates = TrainingHyperparameters(
        steps=plan.steps,
        warmup_steps=schedule_warmup(plan.warmup_steps, plan.steps, first_step),
        learning_rate=recipe.learning_rate,
        batch_size=plan.batch_size or training.train_batch_size,
        random_seed=settings.seed.random_seed,
        first_step=first_step,
        **controls.update_rules(settings),
    )
    return TrainingPlan(
        task_plan=plan,
        updates=updates,
        manifest=manifest | {PLAN_FROM: first_step},
        flags=flags_to_save(settings, resolved_flags),
        state=state,
        history=history,
        best=best,
        metric=metric,
        files=names,
        rerun=same_command(phases.overwrite_output_dir) if rerun is None else rerun,
    )


def _find_metric(flags: EarlyStoppingFlags, data: Dataset) -> str:
    """Return the metric in --metric_for_best; raise InputError if --eval_every cannot use it."""
    metric = find_metric(flags.metric_for_best, data.metrics)
    if flags.eval_every and metric in data.undefined_metrics:
        defined = [name for name in data.metrics if name not in data.undefined_metrics]
        raise InputError(
            f"--metric_for_best={metric}: is undefined, as all numbers of the evaluated data are equal; "
            f"give one of {', '.join(defined)}"
        )
    return metric


def _files(data: Data, settings: TrainingSettings) -> tuple[str, ...]:
    best = (BEST, BEST_FILE) if settings.early_stopping.eval_every else ()
    events = (EVENTS,) if settings.saving.tensorboard else ()
    return (*data.prediction_files, *data.evaluation_files, EVAL_EXAMPLES, HISTORY, PAGE, *best, *events)


class TrainedModel(NamedTuple):
    """A trained model, `figures` for run_report.json, and callbacks to record later evaluations."""

    predictor: Predictor
    figures: dict[str, Any]
    recorders: Sequence[Callback] = ()


def open_and_train(task: Task[Model, Data], model: Model, data: Data, plan: TrainingPlan) -> TrainedModel:
    """Train the model, or load it if training is finished; arguments: see plan_training."""
    settings: TrainingSettings = task.settings
    directory = RunDirectory(settings.phases.output_dir)
    session = open_session(task, model, data, settings, plan.task_plan.class_weights, plan.updates.batch_size)
    recorders = _recorders(session, plan, settings)
    best = BestCheckpoint(plan.best, session, directory) if plan.best else None
    if plan.finished_checkpoint is None:
        figures = _train(task, session, model, data, plan, recorders, best)
        _check_losses(plan, task.guess_loss(data), task.learning_advice(data), session.is_chief)
    else:
        figures = {"global_step": step_number(plan.finished_checkpoint)}
        stopped = ", stopped early" if figures["global_step"] < plan.updates.steps else ""
        LOG.info(
            "%s: training is already finished (%d steps%s); --overwrite_output_dir trains again",
            directory, figures["global_step"], stopped,
        )  # fmt: skip
        for recorder in recorders:
            recorder.on_start()
        if best is None or not best.has_best:
            session.load_trained(find_checkpoint(plan.finished_checkpoint))
    last_step = figures["global_step"]
    if session.is_chief and last_step <= plan.updates.steps:
        stopped_at = {STOPPED: last_step} if last_step < plan.updates.steps else {}
        directory.update_manifest(plan.manifest | stopped_at, plan.files)
    if best:
        if session.is_chief:
            best.settle()
        figures |= best.load(last_step)
        figures |= {"last_step": last_step, "stopped_early": last_step < plan.updates.steps}
    return TrainedModel(session, {"metric": plan.metric} | figures, recorders)


def _check_losses(plan: TrainingPlan, guess: float | None, advice: str, is_chief: bool) -> None:
    updates = plan.updates
    if guess is None or not is_chief:
        return
    warmup_end = updates.first_step + updates.warmup_steps
    if warning := loss_warning(plan.history.entries, warmup_end, guess, advice):
        LOG.warning("warning: %s", warning)


def _recorders(session: "Session", plan: TrainingPlan, settings: TrainingSettings) -> list[Callback]:
    """Return the callbacks for history.jsonl and --tensorboard, which reads the history's lines."""
    updates = plan.updates
    writes = session.is_chief
    steps = settings.saving.log_steps, updates.steps
    recorders: list[Callback] = [HistoryCallback(plan.history, *steps, updates.batch_size, writes)]
    if settings.saving.tensorboard and writes:
        recorders.append(TensorBoardCallback(RunDirectory(settings.phases.output_dir), plan.history))
    return recorders


def _train(
    task: Task[Model, Data],
    session: "Session",
    model: Model,
    data: Data,
    plan: TrainingPlan,
    recorders: Sequence[Callback],
    best: BestCheckpoint | None,
) -> dict[str, Any]:
    """Start or resume training, and return figures for the report."""
    from bert_cli.runs.engine.training_run import train

    settings: TrainingSettings = task.settings
    directory = RunDirectory(settings.phases.output_dir)
    is_chief = session.is_chief
    session.load_initial(model, settings.model.init_checkpoint, plan.state)
    # A process with other flags or data would wait forever for gradients, or damage them.
    session.check_agreement({"the first step": plan.done_steps} | plan.manifest)
    if is_chief and plan.state:
        directory.owned.remove_leftovers()
        directory.update_manifest(plan.manifest, plan.files)
        if best:
            best.settle()
    elif is_chief:
        labels, guesses = plan.task_plan.labels, plan.task_plan.guesses
        contents = model.tokenizer_files
        directory.begin(plan.manifest, labels, model.config, contents, plan.flags, plan.files, guesses)
    PROCESS.training_folder = directory.path
    factors = controls.factors(session.variables, model.config, settings.rates, controls.freezes_encoder(settings))
    callbacks = list(recorders)
    if plan.best and best:
        listeners = [*recorders, best, EarlyStopping(plan.best, plan.updates.steps)]
        evaluation = EvaluationCallback(plan.best, lambda: task.evaluate(session, data).results, session, listeners)
        callbacks.append(evaluation)
    figures = train(
        session,
        task.training_input(data, directory, plan.state is not None, is_chief),
        plan.updates,
        factors,
        settings.saving,
        directory,
        plan.state,
        callbacks,
        lambda: plan.history.paused,
        plan.rerun,
        keeps_best=best is not None,
        packages=(*task.slow_packages, *(page.slow_packages() if settings.page.report else ())),
    )
    if is_chief and plan.state:
        # Update flags.txt, because a finished run may have been extended.
        write_flags(directory.file(FLAGS), plan.flags, plan.task_plan.guesses)
    return figures
