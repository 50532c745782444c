"""Driver for all commands that train: load, read, plan, train, evaluate, predict, report.

Each phase uses the results of earlier ones. Everything specific to a task is in its Task. Work
during training besides the updates, such as evaluation, is in callbacks.
"""

import contextlib
import functools
import logging
import time
from collections.abc import Sequence

from bert_cli.base import files
from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import LOG, dropping_lines_logged_before
from bert_cli.base.names import AVERAGED_RUNS, EVAL_EXAMPLES, EVAL_RESULTS, TRAIN_DATA
from bert_cli.opening.checks import PairCheck, check_unknown
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.callbacks.observers import Callback, end_observers
from bert_cli.runs.callbacks.sweep_trackers import SweepTrackers, make_trackers
from bert_cli.runs.callbacks.trackers import Tracker, check_trackers
from bert_cli.runs.dry_run import forecast_run, report_statistics
from bert_cli.runs.engine import worker_failure
from bert_cli.runs.evaluation import evaluate
from bert_cli.runs.origin import describe_origin
from bert_cli.runs.reporting import finish, run_facts
from bert_cli.runs.resuming import ResumingCall, check_inputs
from bert_cli.runs.sweep import sweep
from bert_cli.runs.sweep.sweep import Average
from bert_cli.runs.tasks import controls
from bert_cli.runs.tasks.dataset import Dataset, file_facts, sample_rows, token_sequences
from bert_cli.runs.tasks.interface import Data, Details, MakeTask, Model, RunResult, Task
from bert_cli.runs.tasks.opening import SharedNetwork, load_task_model, open_trained_task
from bert_cli.runs.training import TrainedModel, open_and_train
from bert_cli.runs.training_plan import TrainingPlan, plan_training, resolve_recipe
from bert_cli.runtime.cluster import is_writer
from bert_cli.settings.groups import ModelFiles
from bert_cli.settings.training import TrainingSettings, has_several_runs


def run_phases(
    make_task: MakeTask,
    settings: TrainingSettings,
    rerun: ResumingCall | None = None,
    observers: Sequence[Callback] = (),
    average: Average | None = None,
) -> JsonObject:
    """Run the phases and return the report, which is also written to run_report.json.

    Args:
        make_task: the command's task class, or a function that returns its task.
        rerun: the call that resumes the run after a signal; None for the same command.
        observers: each training's observers.
        average: see sweep.run_sweep.
    """
    if settings.phases.do_train and settings.phases.overwrite_output_dir:
        check_inputs(settings)
    if not has_several_runs(settings):
        return run_once(make_task(settings), rerun=rerun, observers=observers).report
    check_trackers(settings.saving.report_to)
    directory = RunDirectory(settings.phases.output_dir)
    with sweep.make_sweep_trackers(settings) as trackers:
        run_one = functools.partial(run_once, rerun=rerun, observers=observers)
        report = sweep.run_sweep(make_task, settings, run_one, trackers, average)
        report |= describe_origin()
        directory.write_report(report)
        finish(directory, settings.page)
    trackers.end(report)
    return report


def run_once(
    task: Task[Model, Data, Details],
    data: Data | None = None,
    should_finish: bool = True,
    rerun: ResumingCall | None = None,
    observers: Sequence[Callback] = (),
    shared: SharedNetwork | None = None,
    sweep_trackers: SweepTrackers | None = None,
) -> RunResult[Details]:
    """Run the phases once, without a sweep.

    Args:
        task, rerun, observers: see `run_phases`; `task` is made.
        data: the data; None to read it.
        should_finish: whether to make the page and to log the result.
        shared: an earlier run's network in this process, see SharedNetwork.
        sweep_trackers: the sweep's trackers if this run belongs to one, else None.
    """
    start = time.monotonic()
    settings: TrainingSettings = task.settings
    phases, strategy = settings.phases, settings.devices.distribution_strategy
    directory = RunDirectory(phases.output_dir)
    if not phases.dry_run:  # which writes nothing, so it needs no directory
        files.check_can_write(directory.path, "output_dir")
        lock = directory.lock(strategy)
    with contextlib.ExitStack() as stack:
        with dropping_lines_logged_before(shared.logged_lines) if shared else contextlib.nullcontext():
            model = load_task_model(task, settings)
            recipe = None
            if phases.do_train:
                recipe = resolve_recipe(settings, model.config.hidden_size, task.command)
                controls.check_controls(settings, model.config)
            data = _read_data(task, model, data, stack, shared)
            _check_texts(model, data, settings.model)
            plan = plan_training(task, model, data, recipe, rerun) if recipe else None
            results = _result_files(data, settings)
            if not plan:
                directory.owned.check_results(results)
            for line in data.example_lines(LOG.isEnabledFor(logging.DEBUG)):
                LOG.info(line)
        reading_seconds = time.monotonic() - start
        if plan and phases.dry_run:
            report_statistics(model, data, settings.encoding.max_seq_length)
        # Wrong flags and data have been reported: TensorFlow
        # is imported from here on, which is slow.
        ready_time = time.monotonic()
        if not phases.dry_run:
            stack.enter_context(lock.hold(task.command))
            observers = [*observers, *_open_trackers(settings, plan, stack, sweep_trackers)]
        stack.enter_context(worker_failure.watch_for_failures(strategy))
        if plan and phases.dry_run:
            return RunResult(forecast_run(task, model, data, plan, reading_seconds, ready_time))
        trained = _trained_model(task, model, data, plan, stack, observers, shared)
        predictor = trained.predictor
        report = {**_data_report(data, bool(plan)), "precision": predictor.precision, **trained.figures}
        files.make_directory(directory.path)
        # Evaluate before predicting, which uses results such as thresholds.
        evaluation = evaluate(task, model, data, trained) if phases.do_eval else None
        report |= evaluation.report if evaluation else {}
        if settings.inference.do_predict:
            report |= task.predict(predictor, data, evaluation)
        report |= run_facts(predictor, token_sequences(data), time.monotonic() - start)
        if predictor.is_chief:
            directory.write_report(report, results)
            if should_finish:
                _finish(settings, plan, is_single=sweep_trackers is None)
            if plan:
                directory.owned.drop_unwritten()
    end_observers(trained.observers, report)
    return RunResult(report, evaluation)


def run_mean(task: Task[Model, Data, Details], data: Data, members: Sequence[str]) -> JsonObject:
    """Evaluate and predict by averaged runs, and return the report.

    Args:
        task, data: task and dataset with the mean predictions.
        members: the runs' directories.
    """
    report = run_once(task, data, should_finish=False).report
    averaged: JsonObject = {AVERAGED_RUNS: list(members)}
    RunDirectory(task.settings.phases.output_dir).write_report(averaged)
    return report | averaged


def _read_data(
    task: Task[Model, Data, Details],
    model: Model,
    data: Data | None,
    stack: contextlib.ExitStack,
    shared: SharedNetwork | None,
) -> Data:
    """Return the run's data, which may be read already, or a sample of it."""
    if data is None:
        data = shared.read(task, model, stack) if shared else task.read(model, stack)
    return sample_rows(data, task.settings)


def _open_trackers(
    settings: TrainingSettings,
    plan: TrainingPlan | None,
    stack: contextlib.ExitStack,
    sweep_trackers: SweepTrackers | None,
) -> list[Tracker]:
    """Start the run in the trackers of --report_to.

    Args:
        plan: the plan, None without training.
        stack: gets contexts that end the run there if an error ends the training.
        sweep_trackers: see `run_once`.
    """
    if not plan or not is_writer(settings.devices.distribution_strategy):
        return []
    directory, history = RunDirectory(settings.phases.output_dir), plan.history.entries
    trackers = make_trackers(settings.saving, directory, plan.flags, sweep_trackers, plan.state is not None, history)
    for tracker in trackers:
        stack.enter_context(tracker).open()
    return trackers


def _data_report(data: Dataset, was_trained_on: bool) -> JsonObject:
    """Return the entries of run_report.json about the data."""
    digest = {TRAIN_DATA: data.digest(data.training_splits)} if was_trained_on else {}
    return {**data.facts(), **file_facts(data), **digest}


def _result_files(data: Dataset, settings: TrainingSettings) -> tuple[str, ...]:
    evaluated = (EVAL_RESULTS, EVAL_EXAMPLES, *data.evaluation_files) if settings.phases.do_eval else ()
    return (*evaluated, *(data.prediction_files if settings.inference.do_predict else ()))


def _finish(settings: TrainingSettings, plan: TrainingPlan | None, is_single: bool) -> None:
    has_news = settings.phases.do_eval or (plan is not None and plan.finished_checkpoint is None)
    # Suggest no next command for a directory that is deleted. A sweep suggests one for its best run.
    names_next = is_single and not (plan and plan.is_temporary)
    finish(RunDirectory(settings.phases.output_dir), settings.page, has_news, names_next=names_next)


def _check_texts(model: Model, data: Data, flags: ModelFiles) -> None:
    check_pairs = PairCheck(model.config, model.config_name, flags.strict)
    for split, sequences in token_sequences(data).items():
        if model.optional_vocabulary:
            check_unknown(split, sequences, model.vocabulary, flags)
        check_pairs(sequences)


def _trained_model(
    task: Task[Model, Data, Details],
    model: Model,
    data: Data,
    plan: TrainingPlan | None,
    stack: contextlib.ExitStack,
    observers: Sequence[Callback],
    shared: SharedNetwork | None,
) -> TrainedModel:
    """Train the model, or load a trained one if there is no plan."""
    if plan:
        return open_and_train(task, model, data, plan, stack, observers, shared)
    predictor, step = open_trained_task(task, model, data, task.settings)
    return TrainedModel(predictor, step, {"global_step": step})
