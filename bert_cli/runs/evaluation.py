"""The evaluation of a run: eval_results.txt, log, history and report, and what --precision=int8
costs.
"""

import dataclasses
import os
from collections.abc import Collection, Mapping
from typing import Any

from bert_cli.base.log import LOG, RESULT
from bert_cli.base.names import EVAL_DATA, EVAL_RESULTS
from bert_cli.engines.engine import INT8
from bert_cli.metrics.selection import lower_is_better
from bert_cli.outputs.eval_results import format_eval_results, write_eval_results
from bert_cli.report.main_metric import display_name, is_per_cent, score
from bert_cli.runs.learning_checks import log_comparison
from bert_cli.runs.reporting import cause, keep_examples
from bert_cli.runs.tasks.interface import Data, Evaluation, Model, Task
from bert_cli.runs.tasks.opening import open_trained
from bert_cli.runs.training import TrainedModel
from bert_cli.settings.training import TrainingSettings


def evaluate(
    task: Task[Model, Data],
    model: Model,
    data: Data,
    trained: TrainedModel,
    settings: TrainingSettings,
) -> Evaluation:
    """Evaluate, write and log the results, add them to the history of a training; `report` has the
    metrics, too.

    With --precision=int8 the log also has what the quantization costs.
    """
    folder = settings.phases.output_dir
    predictor = trained.predictor
    step = trained.figures["global_step"]
    # Before the results, so that a lack of memory for the second model leaves no half of them.
    before = _in_full_precision(task, model, data, settings) if predictor.precision == INT8 else None
    found = task.evaluate(predictor, data)
    for recorder in trained.recorders:
        recorder.on_evaluation(step, found.results)
    results = found.results | {"global_step": step}
    if predictor.is_chief:
        write_eval_results(os.path.join(folder, EVAL_RESULTS), results)
    for line in (*format_eval_results(results), *found.lines):
        LOG.log(RESULT, line)
    compared = _compare(task, data, found, results) if predictor.is_chief else {}
    keep_examples(folder, found.examples if settings.page.report else None, predictor.is_chief)
    plain = {name: value if isinstance(value, int) else float(value) for name, value in results.items()}
    about = {
        "eval": plain | found.report.get("eval", {}),
        EVAL_DATA: data.digest(data.evaluation_splits),
    }
    found = found._replace(report=found.report | about | compared)
    if before:
        whole, precision = before
        _log_cost(task.command, _main_metric(data, results.keys() & whole), whole, precision, found.report["eval"])
    return found


def _compare(task: Task[Model, Data], data: Data, found: Evaluation, results: Mapping[str, Any]) -> dict[str, Any]:
    """Log how the results compare with simple baselines; returns the entry of run_report.json.

    The results are written before. Whatever goes wrong here is one line of warning.
    """
    try:
        compared = task.compare(data, found)
    except Exception as error:
        LOG.warning("warning: the baselines were not computed: %s", cause(error))
        return {"baselines": {}}
    if compared is None:
        return {}
    log_comparison(task.command, _main_metric(data, results), results, compared)
    return {"baselines": compared.baselines}


def _main_metric(data: Data, results: Collection[str]) -> str:
    """Return the first metric of the task that is defined on the evaluated data."""
    return next(name for name in data.metrics if name in results)


def _in_full_precision(
    task: Task[Model, Data], model: Model, data: Data, settings: TrainingSettings
) -> tuple[Mapping[str, Any], str]:
    """(the results of the same model in the precision of --precision=auto, that precision)."""
    devices = dataclasses.replace(settings.devices, precision="auto")
    session = open_trained(task, model, data, dataclasses.replace(settings, devices=devices))
    with session.quietly():
        return task.evaluate(session, data).results, session.precision


def _log_cost(command: str, metric: str, whole: Mapping[str, Any], precision: str, found: Mapping[str, Any]) -> None:
    """Log both values of a metric; a warning where int8 is worse by more than a point."""
    before, after = float(whole[metric]), float(found[metric])
    values = f"{score(command, metric, before)} in {precision}, {score(command, metric, after)} in {INT8}"
    lost = after - before if lower_is_better(metric) else before - after
    if lost > (1 if is_per_cent(command, metric) else 0.01):
        LOG.warning("warning: %s costs more than a point: %s: %s", INT8, display_name(metric), values)
    else:
        LOG.log(RESULT, "%s: %s", display_name(metric), values)
