"""Several runs by one command: a grid of flags, seeds, or folds, each in a run's folder of its own
within output_dir.

Each is what the same flags with one value would have made alone: it is kept where it is finished,
and goes on where it was stopped. Commands that read output_dir use the best one on the held-out
data, which best.json names.
"""

import contextlib
import gc
import itertools
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from bert_cli.base import files, names
from bert_cli.base.errors import DivergedError
from bert_cli.base.log import LOG, RESULT
from bert_cli.base.names import FOLDS, GRID, OUT_OF_FOLD, RUNS, SEVERAL, SUSPECTS
from bert_cli.examples.splitting import assign_folds
from bert_cli.flags.option import flag_values, grid_values, replace_values
from bert_cli.flags.saved import read_flags, read_remembered
from bert_cli.outputs import sweep as tables
from bert_cli.runs.loading.checkpoints import choose_checkpoint
from bert_cli.runs.output_dir import best_checkpoint, run_folder
from bert_cli.runs.output_dir.manifest import FILES, is_interrupted_overwriting, read_manifest
from bert_cli.runs.tasks.dataset import DivisibleDataset
from bert_cli.runs.tasks.interface import Evaluation, RunResult, Task
from bert_cli.settings.checks import check_sweep, has_several_runs
from bert_cli.settings.training import TrainingSettings
from bert_cli.weights.path import model_folder


class Folds:
    """The folds of one cross-validation, `count` of them; see examples.splitting."""

    def __init__(self, task: Task[Any, Any], settings: TrainingSettings, count: int):
        """Reads and tokenizes the training data of a task."""
        once = replace_values(settings, {"do_eval": False, "do_predict": False})
        reader = task.with_settings(once)
        model = reader.load(choose_checkpoint(once.model, once.hub, once.phases))
        with contextlib.ExitStack() as stack:
            self._whole: DivisibleDataset = reader.read(model, stack)
        self._folds = assign_folds(self._whole.strata(), count, settings.seed.random_seed)

    def subset(self, number: int) -> DivisibleDataset:
        """The data of the fold with this number, from 1."""
        return self._whole.subset(self._folds == number - 1)

    def write(self, folder: str, evaluations: Sequence[Evaluation]) -> None:
        """out_of_fold.tsv and suspects.tsv; evaluations: of all folds, in order."""
        table, suspects = os.path.join(folder, OUT_OF_FOLD), os.path.join(folder, SUSPECTS)
        count = self._whole.write_folds((table, suspects), self._folds, [each.details for each in evaluations])
        LOG.info("wrote %s (%d rows) and %s (%d suspected label errors)", table, len(self._folds), suspects, count)


_TABLES = {RUNS: names.RUNS_TABLE, GRID: names.GRID_TABLE, FOLDS: names.FOLDS_TABLE}
_RESULTS = {RUNS: (names.BEST_FILE,), GRID: (names.BEST_FILE,), FOLDS: (OUT_OF_FOLD, SUSPECTS, names.CALIBRATION)}
# What only a run's own folder has.
_OF_ONE_RUN = {*names.RUN_FILES, names.LABELS, names.VOCABULARY, names.HISTORY, names.BEST} - {names.EVAL_RESULTS}
_OF_ALL = ("num_runs", "cross_validation", "do_eval")  # flags that make no difference between the runs

RunOnce = Callable[..., RunResult]  # (task, settings, data=None, should_finish=True), the driver's run_once


class Trial(NamedTuple):
    """One of several runs: the name of its folder, and the values of the flags in which it differs
    from the others.
    """

    folder: str
    values: dict[str, Any]


def trials(settings: Any) -> tuple[str, list[Trial]]:
    """What kind of runs the settings ask for, and each of them; the runs of a cell are for the cell
    to make.
    """
    lists = grid_values(settings)
    count = settings.sweep.cross_validation
    if lists:
        cells = [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]
        return GRID, [Trial("-".join(["grid", *(f"{n}-{_short(v)}" for n, v in cell.items())]), cell) for cell in cells]
    if count:
        own = {"cross_validation": 0, "do_eval": True}
        return FOLDS, [Trial(f"fold-{number}", own) for number in range(1, count + 1)]
    first = settings.seed.random_seed
    count = settings.sweep.num_runs
    return RUNS, [Trial(f"run-{n + 1}", {"random_seed": first + n, "num_runs": 1}) for n in range(count)]


def _short(number: float) -> str:
    """A number as a folder's name has it: 5e-05, 2; as short as names no other."""
    return f"{number:g}" if float(f"{number:g}") == number else repr(number)


def run(task: Task, settings: TrainingSettings, run_one: RunOnce) -> dict[str, Any]:
    """Make all runs, log how they compare, then evaluate and predict with the best one as the
    phases say.

    run_one: the driver's, for one run. Returns the report, which is also written to
    run_report.json.
    """
    values = flag_values(settings)
    check_sweep(settings, values["do_train"], values["do_eval"], values.get("do_predict", False))
    folder = settings.phases.output_dir
    began = time.monotonic()
    with _many_models():
        report = _all(task, settings, run_one)
        if model_folder(folder) != folder:  # of folds there is no model to go on with
            report |= _evaluate_best(task, settings, run_one)
    report["total_seconds"] = round(time.monotonic() - began, 3)
    run_folder.write_report(folder, report)
    return report


def _evaluate_best(task: Task, settings: TrainingSettings, run_one: RunOnce) -> dict[str, Any]:
    """Evaluate and predict with the best run, as the phases say; returns the report of that."""
    folder = settings.phases.output_dir
    # What the runs found in the data and left in flags.txt is taken over, as by any later run of
    # the folder.
    kept = read_remembered(type(settings), model_folder(folder), ())
    # The seed is not remembered by a single run, but here it is the difference between the runs.
    kept["random_seed"] = int(read_flags(os.path.join(model_folder(folder), names.FLAGS))["random_seed"])
    once: dict[str, Any] = {name: lists[0] for name, lists in grid_values(settings).items()}
    once |= {"do_train": False, "num_runs": 1, "eval_every": "", "early_stopping_patience": 0, "init_checkpoint": ""}
    final = replace_values(settings, kept | once | {"overwrite_output_dir": False})
    if "calibrate" in flag_values(final):  # each run has done it for itself
        final = replace_values(final, {"calibrate": False, "abstain_error": ""})
    # The page compares all runs: it is made when their report is written.
    return run_one(task.with_settings(final), final, should_finish=False).report


def _all(task: Task, settings: TrainingSettings, run_one: RunOnce) -> dict[str, Any]:
    """The runs, their table and best.json. Returns of the report: eval, of a grid the best cell's,
    else the means.
    """
    kind, planned = trials(settings)
    folder, overwrite = settings.phases.output_dir, settings.phases.overwrite_output_dir
    if overwrite and is_interrupted_overwriting(folder):
        settings = replace_values(settings, {"overwrite_output_dir": False})
        overwrite = False
        LOG.info("%s: resuming the runs that --overwrite_output_dir began; remove the folder to start over", folder)
    results = (_TABLES[kind], *_RESULTS[kind])
    files.check_can_write(folder, "output_dir")
    run_folder.check_sweep(folder, task.command, kind, results, overwrite)
    folds = Folds(task, settings, len(planned)) if kind == FOLDS else None
    reports: list[dict[str, Any]] = []
    evaluations: list[Evaluation] = []  # of the folds; other runs' are not held, as their predictions may be large
    for number, trial in enumerate(planned, 1):
        LOG.log(RESULT, "***** %s: %d of %d *****", trial.folder, number, len(planned))
        own = replace_values(settings, _changes(settings, folder, trial))
        result = _run_trial(task.with_settings(own), own, run_one, folds.subset(number) if folds else None)
        reports.append(result.report)
        evaluations += [result.evaluation] if folds and result.evaluation else []
        # Now, not before: run.json of the first run lists what its task writes, and a run that
        # cannot begin leaves nothing.
        if number == 1:
            owned = (*results, *_results(folder, trial.folder))
            run_folder.begin_sweep(folder, task.command, kind, owned, overwrite)
        # The model of this run, with its compiled functions, refers to itself, and the result
        # may refer to the model.
        del result
        gc.collect()
    if not any(reports):
        raise DivergedError(f"{folder}: the training of all {len(planned)} runs diverged; try a lower --learning_rate")
    rows = [
        tables.RunRow(
            trial.folder,
            {name: value for name, value in trial.values.items() if name not in _OF_ALL},
            tables.metrics_of(report),
            report.get(tables.DEVIATION, {}),
        )
        for trial, report in zip(planned, reports, strict=True)
    ]
    metric = tables.defined_metric(rows, next(report["metric"] for report in reports if report))
    best = None if kind == FOLDS or settings.sweep.cross_validation else tables.best_row(rows, metric)
    has_mean = kind != GRID
    tables.write_runs_table(os.path.join(folder, _TABLES[kind]), rows, has_mean, metric)
    for line in tables.format_runs_table(rows, metric, best.folder if best else None, has_mean):
        LOG.log(RESULT, line)
    if best:
        best_checkpoint.write_choice(folder, best.folder, {"metric": metric, "value": best.metrics[metric]})
        LOG.log(RESULT, "best run by %s: %s; %s now loads it", metric, best.folder, folder)
    if folds:
        folds.write(folder, evaluations)
    means, deviations = tables.mean_and_deviation([row.metrics for row in rows])
    found = (
        {"eval": means, tables.DEVIATION: deviations} if has_mean else {"eval": tables.best_row(rows, metric).metrics}
    )
    seconds = round(sum(report.get("train_seconds", 0.0) for report in reports), 3)
    listed = [{"folder": row.folder, **row.settings, "eval": row.metrics} for row in tables.finished(rows)]
    about: dict[str, Any] = {"metric": metric, "best": best.folder if best else None, "members": listed}
    about |= {tables.MEAN: means, tables.DEVIATION: deviations} if has_mean else {}
    return found | {"metric": metric, "train_seconds": seconds, SEVERAL: {"kind": kind, **about}}


def _run_trial(task: Task, settings: TrainingSettings, run_one: RunOnce, data: DivisibleDataset | None) -> RunResult:
    """One of the runs; `data` is the data of a fold.

    Its report is {} where its training diverged: the others are none the worse for it, but folds.
    """
    try:
        return RunResult(_all(task, settings, run_one)) if has_several_runs(settings) else run_one(task, settings, data)
    except DivergedError as error:
        if data is not None:
            raise
        LOG.warning("%s: %s; the other runs go on without it", settings.phases.output_dir, error)
        return RunResult({})


@contextlib.contextmanager
def _many_models() -> Iterator[None]:
    """Within it TensorFlow does not warn that functions are traced often: each model has its own."""

    def is_other(record: logging.LogRecord) -> bool:
        return "triggered tf.function retracing" not in record.getMessage()

    log = logging.getLogger("tensorflow")
    log.addFilter(is_other)
    try:
        yield
    finally:
        log.removeFilter(is_other)


def _changes(settings: Any, folder: str, trial: Trial) -> dict[str, Any]:
    """The values of flags in which the settings of one of the runs are others."""
    values = flag_values(settings)
    own = trial.values | {"output_dir": os.path.join(folder, trial.folder)}
    own |= {"do_predict": False} if "do_predict" in values else {}
    if values.get("dev_split") and values["dev_split_seed"] is None:
        own["dev_split_seed"] = values["random_seed"]  # all runs are measured on the same rows
    return own


def _results(folder: str, trial: str) -> list[str]:
    """The files that a later prediction or evaluation writes into the folder, which a run's own
    run.json lists.
    """
    listed = (read_manifest(os.path.join(folder, trial)) or {}).get(FILES, [])
    return [name for name in listed if name not in _OF_ONE_RUN]
