"""Training phase: start or resume the training, then load the best weights."""

import contextlib
import dataclasses
import gc
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import LOG, dropping_lines_logged_before
from bert_cli.base.names import FLAGS
from bert_cli.flags.saved import write_flags
from bert_cli.inference.rows import Predictor, load_trained
from bert_cli.report import page
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.run_directory.manifest import (
    STOPPED,
)
from bert_cli.runs.callbacks.evaluation import (
    BestCheckpoint,
    EarlyStopping,
    EvaluationCallback,
)
from bert_cli.runs.callbacks.observers import Callback
from bert_cli.runs.callbacks.recording import make_recorders
from bert_cli.runs.learning_checks import loss_warning
from bert_cli.runs.resuming import advising_to_resume
from bert_cli.runs.tasks import controls
from bert_cli.runs.tasks.dataset import data_for_checkpoint_selection
from bert_cli.runs.tasks.interface import Data, Model, Task
from bert_cli.runs.tasks.opening import SharedNetwork, make_predictor, open_network
from bert_cli.runs.training_plan import TrainingPlan
from bert_cli.runtime.machine import release_free_memory
from bert_cli.settings.training import TrainingSettings
from bert_cli.training.loop import LoopCallback, TrainingFigures, unwrapping_callback_errors
from bert_cli.weights.path import find_checkpoint
from bert_cli.weights.training_folder import step_number

if TYPE_CHECKING:
    from bert_cli.inference.tensorflow import TensorFlowEngine


class TrainedModel(NamedTuple):
    """A trained model.

    Attributes:
        predictor: the model on its devices.
        step: global_step of its weights.
        figures: entries for run_report.json.
        recorders: callbacks to record later evaluations.
        observers: observers that get the report.
    """

    predictor: Predictor
    step: int
    figures: JsonObject
    recorders: Sequence[LoopCallback] = ()
    observers: Sequence[Callback] = ()


def open_and_train(
    task: Task[Model, Data, Any],
    model: Model,
    data: Data,
    plan: TrainingPlan,
    stack: contextlib.ExitStack,
    observers: Sequence[Callback] = (),
    shared: SharedNetwork | None = None,
) -> TrainedModel:
    """Train the model, or load it if training is finished.

    Args:
        task, model, data: see plan_training.
        stack: gets a context that names the checkpoint to resume from if the run is interrupted.
        observers: observers of the caller, and trackers.
        shared: network of an earlier run in this process, see SharedNetwork.
    """
    settings: TrainingSettings = task.settings
    directory = RunDirectory(settings.phases.output_dir)
    class_weights, batch_size = plan.task_plan.class_weights, plan.updates.batch_size
    engine = open_network(task, model, data, settings, class_weights, batch_size, shared)
    predictor = make_predictor(engine, model, data, settings)
    recorders = make_recorders(plan.history, plan.updates, settings.saving, directory, engine.is_chief, observers)
    figures: JsonObject
    best = BestCheckpoint(plan.best, engine, directory) if plan.best else None
    evaluation = None
    if plan.best and best:
        listeners = [*recorders, best, EarlyStopping(plan.best, plan.last_step)]
        dev = data_for_checkpoint_selection(data)
        evaluation = EvaluationCallback(plan.best, lambda: task.evaluate(predictor, dev).results, predictor, listeners)
    if evaluation and best and evaluation.is_missing(plan.done_steps, plan.last_step):
        _repeat_evaluation(dataclasses.replace(evaluation, listeners=[recorders[0], best]), plan, engine)
    if plan.finished_checkpoint is None:
        trained = _train(task, engine, model, data, plan, recorders, best, evaluation, stack, shared)
        last_step, figures = trained.global_step, trained._asdict()
        if not shared:
            # Free the optimizer and the traced step, which are in cycles, for later phases.
            gc.collect()
        release_free_memory()
        _check_losses(plan, task.guess_loss(data), task.learning_advice(data), engine.is_chief)
    else:
        last_step = step_number(plan.finished_checkpoint)
        figures = {"global_step": last_step}
        stopped = ", stopped early" if last_step < plan.last_step else ""
        LOG.info(
            "%s: training is already finished (%d steps%s); --overwrite_output_dir trains again",
            directory, last_step, stopped,
        )  # fmt: skip
        for recorder in recorders:
            recorder.on_start()
        if best is None or not best.has_best:
            load_trained(engine, find_checkpoint(plan.finished_checkpoint))
    step = last_step
    if engine.is_chief and last_step <= plan.last_step:
        stopped_at = {STOPPED: last_step} if last_step < plan.last_step else {}
        directory.update_manifest(plan.manifest | stopped_at, plan.files)
    if best:
        if engine.is_chief:
            best.settle()
        if selection := best.load():
            step = selection.step
            figures |= {"global_step": step, "best": best.facts(selection)}
        figures |= {"last_step": last_step, "stopped_early": last_step < plan.last_step}
    if settings.rates.lora and engine.is_chief:
        # Import late: it imports safetensors.
        from bert_cli.runs.engine.adapter import write_run_adapter

        write_run_adapter(settings, directory, model, plan.task_plan.head_type, step, has_best="best" in figures)
    return TrainedModel(predictor, step, {"metric": plan.metric} | figures, recorders, observers)


def _repeat_evaluation(evaluation: EvaluationCallback, plan: TrainingPlan, engine: "TensorFlowEngine") -> None:
    """Evaluate the state that the run resumes from, because its evaluation failed."""
    assert plan.state
    load_trained(engine, find_checkpoint(plan.state))
    plan.history.open(engine.is_chief)
    with unwrapping_callback_errors():
        evaluation.on_step(plan.done_steps)


def _check_losses(plan: TrainingPlan, guess: float | None, advice: str, is_chief: bool) -> None:
    updates = plan.updates
    if guess is None or not is_chief:
        return
    warmup_end = updates.first_step + updates.warmup_steps
    if warning := loss_warning(plan.history.entries, warmup_end, guess, advice):
        LOG.warning("warning: %s", warning)


def _train(
    task: Task[Model, Data, Any],
    engine: "TensorFlowEngine",
    model: Model,
    data: Data,
    plan: TrainingPlan,
    recorders: Sequence[LoopCallback],
    best: BestCheckpoint | None,
    evaluation: EvaluationCallback | None,
    stack: contextlib.ExitStack,
    shared: SharedNetwork | None,
) -> TrainingFigures:
    """Start or resume training, and return figures for the report."""
    from bert_cli.runs.engine.initial_weights import load_initial
    from bert_cli.runs.engine.training_run import TrainingRun, train
    from bert_cli.training.several_processes import check_agreement

    settings: TrainingSettings = task.settings
    directory = RunDirectory(settings.phases.output_dir)
    is_chief = engine.is_chief
    with dropping_lines_logged_before(shared.logged_lines) if shared else contextlib.nullcontext():
        load_initial(engine, model, settings.model.init_checkpoint, plan.state, plan.task_plan.run_labels(task.command))
    # A process with other flags or data would wait forever for gradients, or damage them.
    check_agreement(engine.strategy, {"the first step": plan.done_steps} | plan.manifest)
    if is_chief and plan.state:
        directory.owned.remove_leftovers()
        directory.update_manifest(plan.manifest, plan.files)
        if best:
            best.settle()
    elif is_chief:
        labels, guesses = plan.task_plan.labels, plan.task_plan.guesses
        contents = {**model.tokenizer_files, **plan.task_plan.model_files}
        directory.begin(plan.manifest, labels, model.config, contents, plan.flags, plan.files, guesses)
    stack.enter_context(advising_to_resume(directory, plan.rerun))
    freezes_encoder = controls.freezes_encoder(settings)
    factors = controls.learning_rate_factors(engine.variables, model.config, settings.rates, freezes_encoder)
    figures = TrainingFigures(plan.done_steps, 0.0, 0.0, 0.0, 0.0)
    if plan.done_steps < plan.updates.steps:
        figures = train(
            engine,
            task.training_input(data, directory, plan.state is not None, is_chief),
            plan.updates,
            factors,
            settings.saving,
            directory,
            plan.state,
            [*recorders, *([evaluation] if evaluation else [])],
            lambda: plan.history.paused,
            plan.rerun,
            plan.is_temporary,
            keeps_best=best is not None,
            packages=(*task.slow_packages, *(page.slow_packages() if settings.page.report else ())),
            open_run=shared.open_run if shared else TrainingRun,
        )
    else:
        _start_without_updates(engine, plan, recorders)
    if plan.task_plan.fits_head:
        figures = _fit_head(task, engine, data, plan, figures)
    if is_chief and plan.state:
        # Update flags.txt, because a finished run may have been extended.
        write_flags(directory.file(FLAGS), plan.flags, plan.task_plan.guesses)
    return figures


def _start_without_updates(engine: "TensorFlowEngine", plan: TrainingPlan, recorders: Sequence[LoopCallback]) -> None:
    """Do what else the first update does: open the recorders, and load the state to resume from."""
    # The evaluation after the training is recorded, too.
    for recorder in recorders:
        recorder.on_start()
    if plan.state:
        load_trained(engine, find_checkpoint(plan.state))


def _fit_head(
    task: Task[Model, Data, Any], engine: "TensorFlowEngine", data: Data, plan: TrainingPlan, figures: TrainingFigures
) -> TrainingFigures:
    """Fit the head and save it as the last step; return the figures with it.

    Args:
        task, data: see plan_training.
        engine: the model with the weights of the last update.
        figures: figures of the updates.
    """
    # Import late: it imports TensorFlow.
    from bert_cli.training.checkpoints import save_checkpoint

    settings: TrainingSettings = task.settings
    start = time.monotonic()
    loss = task.fit_head(engine, data, plan.task_plan.class_weights)
    engine.freeze_for_inference()
    if engine.is_chief:
        weights = engine.weights(plan.last_step)
        path = save_checkpoint(settings.phases.output_dir, plan.last_step, weights, settings.saving.keep_checkpoint_max)
        LOG.info("saved %s", path)
    seconds = round(figures.train_seconds + time.monotonic() - start, 3)
    first_loss = figures.first_loss if plan.updates.steps else loss
    return figures._replace(
        global_step=plan.last_step, train_seconds=seconds, first_loss=first_loss, last_loss=float(f"{loss:.7g}")
    )
