"""Sweeps: several runs in one command, for a grid of flags, seeds or folds.

Each run has its own directory in output_dir, and is equal to a single run with the same flag
values. A finished run is kept, and an interrupted one is resumed. Commands that read output_dir use
the run with the best result on held-out data, which best.json names.
"""

import contextlib
import gc
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bert_cli.base import files, names
from bert_cli.base.errors import DivergedError
from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import LOG, RESULT
from bert_cli.base.names import FOLDS, GRID, OUT_OF_FOLD, RUNS, SEVERAL, SUSPECTS
from bert_cli.flags.option import flag_values, grid_values, replace_values
from bert_cli.flags.run_flags import read_flags
from bert_cli.flags.saved import flags_to_save, read_remembered
from bert_cli.opening.paths import find_members
from bert_cli.outputs import sweep as tables
from bert_cli.outputs.learning_curve import curve_point, format_curve, write_curve
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.run_directory.manifest import FILES
from bert_cli.runs.callbacks.sweep_trackers import SweepTrackers
from bert_cli.runs.sweep.folds import Folds
from bert_cli.runs.sweep.nested import describe_chosen_combinations, inner_sweep_settings, with_choice
from bert_cli.runs.sweep.trials import Trial, as_flags, plan_trials, short_number, trial_changes
from bert_cli.runs.tasks.dataset import DivisibleDataset
from bert_cli.runs.tasks.interface import Evaluation, MakeTask, RunResult
from bert_cli.runs.tasks.opening import SharedNetwork
from bert_cli.settings.training import TrainingSettings, has_several_runs
from bert_cli.weights.path import model_folder

_TABLES = {RUNS: names.RUNS_TABLE, GRID: names.GRID_TABLE, FOLDS: names.FOLDS_TABLE}
_RESULTS = {RUNS: (names.BEST_FILE,), GRID: (names.BEST_FILE,), FOLDS: (OUT_OF_FOLD, SUSPECTS, names.CALIBRATION)}
# Files that only a single run's directory has.
_SINGLE_RUN_FILES = {*names.RUN_FILES, names.LABELS, names.VOCABULARY, names.HISTORY, names.BEST} - {names.EVAL_RESULTS}
Average = Callable[[], JsonObject]
# driver.run_once, with the arguments (task, data=None, should_finish=True, shared=None).
RunOnce = Callable[..., RunResult]


def make_sweep_trackers(settings: TrainingSettings, parents: SweepTrackers | None = None) -> SweepTrackers:
    """Return a sweep's trackers.

    Args:
        settings: the sweep's flags.
        parents: trackers for a grid that contains this sweep, or None.
    """
    directory = RunDirectory(settings.phases.output_dir)
    is_new = settings.phases.overwrite_output_dir and not directory.is_interrupted_overwriting
    lists = {name: ",".join(map(short_number, values)) for name, values in grid_values(settings).items()}
    return SweepTrackers(settings.saving, directory, flags_to_save(settings, {}) | lists, parents, not is_new)


def run_sweep(
    make_task: MakeTask,
    settings: TrainingSettings,
    run_one: RunOnce,
    trackers: SweepTrackers,
    average: Average | None = None,
) -> JsonObject:
    """Run all trials, log a comparison, then evaluate and predict with the best one.

    Args:
        make_task: see driver.run_phases.
        settings: the sweep's flags.
        run_one: the driver's function for a single run.
        average: function that evaluates and predicts by the mean over all runs; None for the best
            run.

    Returns:
        The report, for run_report.json.
    """
    folder = settings.phases.output_dir
    start_time = time.monotonic()
    with _silence_retracing():
        report = _run_trials(make_task, settings, run_one, SharedNetwork(), trackers)
        if average:
            # The directory lists the runs that are averaged.
            RunDirectory(folder).write_report(report | {"total_seconds": round(time.monotonic() - start_time, 3)})
            report |= average()
        # Skip this for folds, which have no best model.
        elif model_folder(folder) != folder:
            report |= _evaluate_best(make_task, settings, run_one)
    report["total_seconds"] = round(time.monotonic() - start_time, 3)
    return report


def _evaluate_best(make_task: MakeTask, settings: TrainingSettings, run_one: RunOnce) -> JsonObject:
    """Evaluate and predict with the best run, if the flags ask for it, and return that report."""
    folder = settings.phases.output_dir
    # Use the values that the run determined from the data and stored in flags.txt.
    remembered_flags = read_remembered(type(settings), model_folder(folder), ())
    # Add the seed, which later runs do not remember, because it differs between the trials.
    remembered_flags["random_seed"] = int(read_flags(os.path.join(model_folder(folder), names.FLAGS))["random_seed"])
    changes: dict[str, Any] = {name: lists[0] for name, lists in grid_values(settings).items()}
    changes |= {"do_train": False, "num_runs": 1, "eval_every": "", "early_stopping_patience": 0, "init_checkpoint": ""}
    final = replace_values(settings, remembered_flags | changes | {"overwrite_output_dir": False})
    # Do not calibrate again: each trial has done it.
    if "calibrate" in flag_values(final):
        final = replace_values(final, {"calibrate": False, "abstain_error": ""})
    # Do not write report.html yet: it compares all runs, and is made with the sweep's report.
    return run_one(make_task(final), should_finish=False).report


def _run_trials(
    make_task: MakeTask,
    settings: TrainingSettings,
    run_one: RunOnce,
    shared: SharedNetwork,
    trackers: SweepTrackers,
    rows: DivisibleDataset | None = None,
) -> JsonObject:
    """Run all trials, write their table and best.json, and return a part for the sweep's report.

    Its "eval" has the best trial's metrics for a grid, and otherwise the means.

    Args:
        make_task, settings, run_one, trackers: see `run_sweep`.
        shared: the trials' data and network.
        rows: data with the training rows that inner folds divide; None to read it.
    """
    sweep_type, trials = plan_trials(settings)
    parent, overwrite = RunDirectory(settings.phases.output_dir), settings.phases.overwrite_output_dir
    if overwrite and parent.is_interrupted_overwriting:
        settings = replace_values(settings, {"overwrite_output_dir": False})
        overwrite = False
        LOG.info("%s: resuming the runs that --overwrite_output_dir began; remove the folder to start over", parent)
    has_curve = sweep_type == GRID and names.ROWS_PER_LABEL in grid_values(settings)
    results = (_TABLES[sweep_type], *_RESULTS[sweep_type], *((names.CURVE_TABLE,) if has_curve else ()))
    files.check_can_write(parent.path, "output_dir")
    command = make_task(settings).command
    parent.check_sweep(command, sweep_type, results, overwrite)
    folds = Folds(make_task, settings, shared, rows) if sweep_type == FOLDS else None
    reports: list[JsonObject] = []
    # Keep only the evaluations of folds: predictions may be large.
    evaluations: list[Evaluation[Any]] = []
    for number, trial in enumerate(trials, 1):
        LOG.log(RESULT, "***** %s: %d of %d *****", trial.folder, number, len(trials))
        if folds and settings.sweep.inner_cross_validation:
            inner = inner_sweep_settings(settings, parent, trial)
            search = _run_trial(make_task, inner, run_one, shared, trackers, folds.divided_rows(number), False)
            trials[number - 1] = trial = with_choice(trial, inner, search.report)
        trial_settings = replace_values(settings, trial_changes(settings, parent, trial))
        data = folds.subset(number) if folds else rows
        result = _run_trial(make_task, trial_settings, run_one, shared, trackers, data, may_diverge=not folds)
        reports.append(result.report)
        evaluations += [result.evaluation] if folds and result.evaluation else []
        # Begin the sweep after the first trial: its run.json lists the task's files. A trial that
        # cannot start must leave no trace.
        if number == 1:
            tracking = (names.TRACKING,) if settings.saving.report_to else ()
            owned_files = (*results, *tracking, *_result_files(RunDirectory(parent.file(trial.folder))))
            parent.begin_sweep(command, sweep_type, owned_files, overwrite)
            trackers.store_ids()
        # Free memory now: compiled functions and an unused model are in reference cycles.
        del result
        gc.collect()
    if not any(reports):
        raise DivergedError(f"{parent}: the training of all {len(trials)} runs diverged; try a lower --learning_rate")
    report = _summarize(settings, sweep_type, trials, reports, is_inner=rows is not None)
    if has_curve:
        _write_curve(parent, trials, reports, str(report["metric"]))
    if folds:
        folds.write(parent, evaluations)
    if settings.sweep.inner_cross_validation:
        LOG.log(RESULT, "the inner folds chose %s", describe_chosen_combinations(settings, trials))
    return report


def _summarize(
    settings: TrainingSettings,
    sweep_type: str,
    trials: Sequence[Trial],
    reports: Sequence[JsonObject],
    is_inner: bool,
) -> JsonObject:
    """Write and log the table of all trials, write best.json, and return the part for the report.

    Args:
        settings: the sweep's flags.
        sweep_type: GRID, FOLDS or RUNS.
        reports: report per trial, {} if it diverged.
        is_inner: whether the trials are inner folds of a nested cross-validation.
    """
    parent = RunDirectory(settings.phases.output_dir)
    table = [_table_row(trial, report) for trial, report in zip(trials, reports, strict=True)]
    metric = tables.defined_metric(table, next(str(report["metric"]) for report in reports if report))
    best = None if sweep_type == FOLDS else tables.best_row(table, metric)
    has_mean = sweep_type != GRID
    tables.write_runs_table(parent.file(_TABLES[sweep_type]), table, has_mean, metric)
    for line in tables.format_runs_table(table, metric, best.folder if best else None, has_mean):
        LOG.log(RESULT, line)
    if best and settings.sweep.cross_validation:
        advice = "" if is_inner else f"; train on all rows with {as_flags(best.settings)}"
        LOG.log(RESULT, "best mean %s: %s%s", metric, best.folder, advice)
    elif best:
        parent.best.write_choice({"metric": metric, "value": best.metrics[metric]}, best.folder)
        LOG.log(RESULT, "best run by %s: %s; %s now loads it", metric, best.folder, parent)
    summary = tables.SweepSummary(sweep_type, metric, best.folder if best else None, tables.select_finished(table))
    evaluation_report: JsonObject = {"eval": tables.best_row(table, metric).metrics}
    if has_mean:
        means, deviations = tables.mean_and_deviation([row.metrics for row in table])
        summary = summary._replace(means=means, deviations=deviations)
        evaluation_report = {"eval": means, tables.DEVIATION: deviations}
    seconds = round(sum(float(str(report.get("train_seconds", 0.0))) for report in reports), 3)
    # All trials read the same files.
    files_report: JsonObject = {names.DATA_FACTS: next(report[names.DATA_FACTS] for report in reports if report)}
    return evaluation_report | files_report | {"metric": metric, "train_seconds": seconds, SEVERAL: summary.report()}


def _write_curve(parent: RunDirectory, trials: Sequence[Trial], reports: Sequence[JsonObject], metric: str) -> None:
    """Write and log the learning curve.

    Args:
        parent: the grid's directory.
        trials: a trial per number of rows.
        reports: report per trial, {} if it diverged.
        metric: main metric.
    """
    points = []
    for trial, report in zip(trials, reports, strict=True):
        members = find_members([parent.file(trial.folder)]) if report else []
        member_reports = [member_report for member in members if (member_report := RunDirectory(member).report)]
        points += [curve_point(_table_row(trial, report).settings, member_reports, metric)]
    known_points = [point for point in points if point]
    write_curve(parent.file(names.CURVE_TABLE), known_points, metric)
    for line in format_curve(known_points, metric):
        LOG.log(RESULT, line)


def _table_row(trial: Trial, report: JsonObject) -> tables.RunRow:
    metrics, deviations = tables.metrics_of(report), tables.deviations_of(report)
    return tables.RunRow(trial.folder, trial.values, metrics, deviations)


def _run_trial(
    make_task: MakeTask,
    settings: TrainingSettings,
    run_one: RunOnce,
    shared: SharedNetwork,
    trackers: SweepTrackers,
    data: DivisibleDataset | None,
    may_diverge: bool,
) -> RunResult:
    """Run one trial, which may be a sweep itself.

    Args:
        make_task: see driver.run_phases.
        settings: the trial's settings.
        run_one: the driver's function for a single run.
        shared: the trials' data and network.
        data: a fold's data, or None.
        may_diverge: whether the other trials can continue if this one diverges.

    Returns:
        The result. If training diverged, its report is {}.

    Raises:
        DivergedError: if training diverged and `may_diverge` is False; all folds are needed.
    """
    try:
        if not has_several_runs(settings):
            return run_one(make_task(settings), data, shared=shared, sweep_trackers=trackers)
        start_time = time.monotonic()
        with make_sweep_trackers(settings, trackers) as cell_trackers:
            report = _run_trials(make_task, settings, run_one, shared, cell_trackers, data)
            report["total_seconds"] = round(time.monotonic() - start_time, 3)
            RunDirectory(settings.phases.output_dir).write_report(report)
        cell_trackers.end(report)
        return RunResult(report)
    except DivergedError as error:
        if not may_diverge:
            raise
        LOG.warning("%s: %s; the other runs go on without it", settings.phases.output_dir, error)
        return RunResult({})


@contextlib.contextmanager
def _silence_retracing() -> Iterator[None]:
    """Hide TensorFlow's warnings about frequent tracing: each model traces its own functions."""

    def is_not_retracing(record: logging.LogRecord) -> bool:
        return "triggered tf.function retracing" not in record.getMessage()

    log = logging.getLogger("tensorflow")
    log.addFilter(is_not_retracing)
    try:
        yield
    finally:
        log.removeFilter(is_not_retracing)


def _result_files(trial_directory: RunDirectory) -> list[str]:
    """Return the names of files that a sweep's later evaluation or prediction may write.

    A trial's run.json lists them.
    """
    file_names = (trial_directory.manifest or {}).get(FILES, [])
    return [name for name in file_names if name not in _SINGLE_RUN_FILES]
