"""Choice of the best evaluation, and the number of evaluations since then."""

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from bert_cli.base.errors import InputError

# A metric's value, an int for counts. Name -> value are the lines of eval_results.txt.
Metric: TypeAlias = int | float | np.floating
MetricsByName: TypeAlias = dict[str, Metric]

# Metrics with one of these words in their name improve when they fall.
_LOWER_IS_BETTER = ("loss", "rmse", "mae", "perplexity", "brier", "entropy")
_LOWER_AT_END = ("error", "cost")  # at the end of the user's metrics, and of scikit-learn's


class Selection(NamedTuple):
    """The best evaluation, the first one in a tie.

    Attributes:
        step: step of the best evaluation.
        value: its metric.
        waited: number of later evaluations, which were not better.
    """

    step: int
    value: float
    waited: int


def lower_is_better(name: str) -> bool:
    # Compare whole words: "mae" may also be inside the name of an entity type.
    words = name.lower().split("_")
    return words[-1] in _LOWER_AT_END or any(word in _LOWER_IS_BETTER for word in words)


def match_metric(requested: str, metrics: Collection[str]) -> str:
    """Return the metric with a name from --metric_for_best, "" if no metric has it.

    The name may lack the prefix eval_, and have its words in another order: scikit-learn's name for
    eval_macro_f1 is f1_macro.
    """
    words = sorted(requested.removeprefix("eval_").split("_"))
    permuted = (name for name in metrics if sorted(name.removeprefix("eval_").split("_")) == words)
    return next((name for name in (requested, f"eval_{requested}", *permuted) if name in metrics), "")


def find_metric(requested: str, metrics: Sequence[str]) -> str:
    """Return the metric for --metric_for_best, see match_metric.

    Args:
        requested: flag value, "" for the first metric.
        metrics: metrics of this run, main metric first.

    Raises:
        InputError: the run does not have this metric; the message lists its metrics.
    """
    if not requested:
        return metrics[0]
    if name := match_metric(requested, metrics):
        return name
    raise InputError(f"--metric_for_best={requested}: this run has {', '.join(metrics)}; give one of them")


def is_better(name: str, value: float, reference: float) -> bool:
    """Return whether a `value` of the metric `name` is better than `reference`.

    Any number is better than NaN.
    """
    if value != value or reference != reference:
        # NaN is the only value that differs from itself.
        return value == value
    return value < reference if lower_is_better(name) else value > reference


def select(name: str, evaluations: Sequence[tuple[int, float]], first_step: int = 0) -> Selection | None:
    """Return the best of `evaluations`, or None if no value is a number.

    Args:
        name: name of the metric.
        evaluations: (step, metric value) pairs in step order.
        first_step: steps up to this one can be the best, but `waited` counts only later
            evaluations.
    """
    defined = [(step, value) for step, value in evaluations if not math.isnan(value)]
    if not defined:
        return None
    best = defined[0]
    for evaluation in defined[1:]:
        if is_better(name, evaluation[1], best[1]):
            best = evaluation
    # An equal value is not better, so it counts as waiting.
    return Selection(*best, sum(step > max(best[0], first_step) for step, _ in evaluations))
