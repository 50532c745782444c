"""Which of several evaluations is the best one, and for how long there was no better one."""

from collections.abc import Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError

# A metric with one of these in its name is better the lower it is.
_LOWER_IS_BETTER = ("loss", "rmse", "mae", "perplexity")


class Selection(NamedTuple):
    """step, value: of the best evaluation, of equal ones the first. waited: evaluations since,
    without a better one.
    """

    step: int
    value: float
    waited: int


def lower_is_better(name: str) -> bool:
    # Whole words of the name: as a part of one, "mae" is also found in the name of an entity type.
    return any(part in _LOWER_IS_BETTER for part in name.lower().split("_"))


def find_metric(given: str, known: Sequence[str]) -> str:
    """The metric that --metric_for_best names, with or without eval_ in front; without a name the
    first of `known`.

    InputError, which lists them, for one that is not known.
    """
    if not given:
        return known[0]
    for name in (given, f"eval_{given}"):
        if name in known:
            return name
    raise InputError(f"--metric_for_best={given}: this run has {', '.join(known)}; give one of them")


def is_better(name: str, value: float, other: float) -> bool:
    """Whether a value of this metric is better than another one. A NaN is not, and everything is
    better than a NaN.
    """
    if value != value or other != other:
        # NaN is the only value that differs from itself.
        return value == value
    return value < other if lower_is_better(name) else value > other


def select(name: str, evaluations: Sequence[tuple[int, float]], first_step: int = 0) -> Selection | None:
    """The best of (step, value of the metric), in the order of their steps; None where there is
    none.

    first_step: evaluations up to this step count for the best one, but `waited` counts later ones
    alone.
    """
    if not evaluations:
        return None
    best = evaluations[0]
    for each in evaluations[1:]:
        if is_better(name, each[1], best[1]):
            best = each
    # A value that is as good as the best one does not count as better, so waiting goes on.
    return Selection(*best, sum(step > max(best[0], first_step) for step, _ in evaluations))
