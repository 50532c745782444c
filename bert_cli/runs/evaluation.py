"""Evaluation phase: eval_results.txt, log, history, report, and the cost of --precision=int8."""

import dataclasses
from collections.abc import Collection, Mapping

from bert_cli.base.json_files import JsonObject, member_object
from bert_cli.base.log import LOG, RESULT
from bert_cli.base.names import EVAL_DATA, EVAL_RESULTS, POSITIVE_LABEL
from bert_cli.metrics.bootstrap import Intervals
from bert_cli.metrics.classification import BINARY_F1
from bert_cli.metrics.selection import Metric, lower_is_better
from bert_cli.outputs.eval_results import format_eval_results, write_eval_results
from bert_cli.report.main_metric import display_name, format_metric, is_per_cent
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.learning_checks import log_comparison
from bert_cli.runs.reporting import describe_error, keep_examples
from bert_cli.runs.tasks.interface import Data, Details, Evaluation, Model, Task
from bert_cli.runs.tasks.opening import open_trained_task
from bert_cli.runs.training import TrainedModel
from bert_cli.runtime.machine import release_free_memory
from bert_cli.settings.devices import INT8
from bert_cli.settings.training import TrainingSettings
from bert_cli.training.loop import CallbackCalls, unwrapping_callback_errors


def evaluate(
    task: Task[Model, Data, Details],
    model: Model,
    data: Data,
    trained: TrainedModel,
) -> Evaluation[Details]:
    """Evaluate, and write the results to eval_results.txt, to the log and to the history.

    With --precision=int8, the log also shows how much the quantization costs.

    Returns:
        The evaluation. Its `report` also contains the metrics.
    """
    settings: TrainingSettings = task.settings
    directory = RunDirectory(settings.phases.output_dir)
    predictor = trained.predictor
    step = trained.step
    # Do this first: if there is not enough memory for the second model, no results are written.
    full_precision = _in_full_precision(task, model, data) if predictor.precision == INT8 else None
    evaluation = task.evaluate(predictor, data)
    calls = CallbackCalls()
    for recorder in trained.recorders:
        calls.add(recorder.on_evaluation, step, evaluation.results)
    with unwrapping_callback_errors():
        calls.is_any_true()
    results = {**evaluation.results, "global_step": step}
    positive_label = str(data.facts().get(POSITIVE_LABEL, ""))
    listed = _name_label(results, positive_label)
    intervals = evaluation.intervals()
    ends = intervals.results()
    if predictor.is_chief:
        write_eval_results(directory.file(EVAL_RESULTS), {**listed, **ends})
    plain_results = _plain(results)
    title, *lines = format_eval_results(listed)
    # With --log_format=json, one record has all numbers, and another one the scores per label.
    LOG.log(RESULT, title, extra={"fields": plain_results})
    for line in lines:
        LOG.log(RESULT, line)
    if evaluation.lines:
        LOG.log(RESULT, "\n".join(evaluation.lines), extra={"fields": member_object(evaluation.report, "eval")})
    if intervals:
        table = "\n".join(f"  {line}" for line in intervals.lines())
        LOG.log(RESULT, table, extra={"fields": _report_intervals(intervals)})
    baselines = _compare(task, data, evaluation, results, positive_label) if predictor.is_chief else {}
    keep_examples(directory, evaluation.examples if settings.page.report else None, predictor.is_chief)
    release_free_memory()  # a prediction may follow, which can use it
    entries: JsonObject = {
        "eval": {**plain_results, **member_object(evaluation.report, "eval"), **_report_intervals(intervals)},
        EVAL_DATA: data.digest(data.evaluation_splits),
    }
    evaluation = dataclasses.replace(evaluation, report=evaluation.report | entries | baselines)
    if full_precision:
        full_results, precision = full_precision
        log_int8_cost(
            task.command,
            find_main_metric(data, results.keys() & full_results),
            full_results,
            precision,
            plain_results,
            positive_label,
        )
    return evaluation


def _plain(results: Mapping[str, Metric]) -> dict[str, int | float]:
    """Return results as Python's numbers, for JSON."""
    return {name: value if isinstance(value, int) else float(value) for name, value in results.items()}


def _report_intervals(intervals: Intervals) -> JsonObject:
    """Return an entry for run_report.json, none without intervals."""
    ends: JsonObject = {name: [float(interval.low), float(interval.high)] for name, interval in intervals.items()}
    return {"intervals": ends} if ends else {}


def _name_label(results: Mapping[str, Metric], positive_label: str) -> dict[str, Metric]:
    """Return results with the F1 of two labels also under a name that contains its label.

    The label is in a name, because programs read all values of eval_results.txt as numbers.
    """
    has_label = positive_label and BINARY_F1 in results
    return {**results, **({f"{BINARY_F1}_of_{positive_label}": results[BINARY_F1]} if has_label else {})}


def _compare(
    task: Task[Model, Data, Details],
    data: Data,
    evaluation: Evaluation[Details],
    results: Mapping[str, Metric],
    positive_label: str,
) -> JsonObject:
    """Log how the results compare with simple baselines, and return entries for run_report.json.

    The results have been written, so an error here is only a warning.

    Args:
        results: metrics and global_step.
        positive_label: see display_name.
    """
    try:
        comparison = task.compare(data, evaluation)
    except Exception as error:
        LOG.warning("warning: the baselines were not computed: %s", describe_error(error))
        return {"baselines": {}}
    if comparison is None:
        return {}
    log_comparison(task.command, find_main_metric(data, results), results, comparison, positive_label)
    return {"baselines": comparison.baselines}


def find_main_metric(data: Data, results: Collection[str]) -> str:
    """Return the first metric of the task that is defined on the evaluated data.

    Args:
        results: names that the evaluation has.
    """
    return next(name for name in data.metrics if name in results)


def _in_full_precision(task: Task[Model, Data, Details], model: Model, data: Data) -> tuple[Mapping[str, Metric], str]:
    """Return the model's results with --precision=auto, and that precision."""
    devices = dataclasses.replace(task.settings.devices, precision="auto")
    predictor, _ = open_trained_task(task, model, data, dataclasses.replace(task.settings, devices=devices))
    with predictor.quietly():
        return task.evaluate(predictor, data).results, predictor.precision


def log_int8_cost(
    command: str,
    metric: str,
    results: Mapping[str, Metric],
    precision: str,
    int8_results: Mapping[str, Metric],
    positive_label: str,
) -> None:
    """Log both values of a metric, as a warning if int8 is worse by more than a point.

    Args:
        command: the command that trained the model.
        metric: the metric's name in the results.
        results: metrics without quantization.
        precision: their precision.
        int8_results: metrics of int8.
        positive_label: see display_name.
    """
    name = display_name(metric, positive_label)
    before, after = float(results[metric]), float(int8_results[metric])
    values = (
        f"{format_metric(command, metric, before)} in {precision}, {format_metric(command, metric, after)} in {INT8}"
    )
    lost = after - before if lower_is_better(metric) else before - after
    if lost > (1 if is_per_cent(command, metric) else 0.01):
        LOG.warning("warning: %s costs more than a point: %s: %s", INT8, name, values)
    else:
        LOG.log(RESULT, "%s: %s", name, values)
