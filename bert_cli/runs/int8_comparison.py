"""What --precision=int8 costs on the data held out: the same evaluation in the precision of --precision=auto beside it."""

import dataclasses
import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from bert_cli.base.log import RESULT
from bert_cli.metrics.selection import lower_is_better
from bert_cli.report.main_metric import is_per_cent, score, spoken
from bert_cli.runs.tasks.interface import Data, Model, Task
from bert_cli.runs.tasks.opening import open_trained
from bert_cli.settings.devices import INT8
from bert_cli.settings.training import TrainingSettings

LOG = logging.getLogger("bert_cli")


class Whole(NamedTuple):
    """The results of an evaluation, and the precision that it was computed in."""

    results: Mapping[str, Any]
    precision: str


def evaluate_whole(task: Task[Model, Data], model: Model, data: Data, settings: TrainingSettings) -> Whole:
    """Evaluate the same model in the precision that is the default."""
    devices = dataclasses.replace(settings.devices, precision="auto")
    session = open_trained(task, model, data, dataclasses.replace(settings, devices=devices))  # type: ignore[type-var]
    with session.quietly():
        return Whole(task.evaluate(session, data).results, session.precision)


def tell_cost(command: str, metric: str, whole: Whole, found: Mapping[str, Any]) -> None:
    """Say both values of a metric; a warning where that of int8 is worse by more than a point."""
    before, after = float(whole.results[metric]), float(found[metric])
    told = f"{spoken(metric)}: {score(command, metric, before)} in {whole.precision}, {score(command, metric, after)} in {INT8}"
    lost = after - before if lower_is_better(metric) else before - after
    if lost > (1 if is_per_cent(command, metric) else 0.01):
        LOG.warning("warning: %s costs more than a point: %s", INT8, told)
    else:
        LOG.log(RESULT, "%s", told)
