"""Significance of a difference between two models on the same rows: McNemar and paired bootstrap."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bert_cli.metrics.bootstrap import CONFIDENCE, bootstrap
from bert_cli.metrics.selection import Metric

SAMPLES = 1000
_SEED = 12345


class McNemar(NamedTuple):
    """McNemar's exact test on rows with a right or wrong prediction.

    Attributes:
        only_first, only_second: number of rows that only this model predicts right.
        p_value: probability of such a difference between equally good models.
    """

    only_first: int
    only_second: int
    p_value: float

    @property
    def is_different(self) -> bool:
        return self.p_value < 1 - CONFIDENCE


def mcnemar(first: np.ndarray, second: np.ndarray) -> McNemar:
    """Compare two models; use whether they are right, bool [n], for the same rows."""
    from scipy.stats import binomtest

    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    count = only_first + only_second
    # The test of 0 rows is undefined; equal models have no difference.
    return McNemar(only_first, only_second, float(binomtest(only_first, count).pvalue) if count else 1.0)


class Difference(NamedTuple):
    """A metric's difference, second minus first, with its confidence interval."""

    name: str
    first: float
    second: float
    low: float
    high: float

    @property
    def is_different(self) -> bool:
        return self.low > 0 or self.high < 0


Measure = Callable[[np.ndarray], Mapping[str, Metric]]


def paired_bootstrap(first: Measure, second: Measure, names: Sequence[str], num_rows: int) -> list[Difference]:
    """Return the difference in each metric, from samples that both models share.

    Args:
        first, second: functions from row numbers to a model's metrics of these rows.
        names: metrics to compare; undefined ones are left out.
        num_rows: number of rows.
    """

    def measure(rows: np.ndarray) -> dict[str, float]:
        values = first(rows), second(rows)
        return {name: float(values[1][name]) - float(values[0][name]) for name in names if _has_all(name, *values)}

    every = np.arange(num_rows)
    values = first(every), second(every)
    intervals = bootstrap(measure, names, num_rows, SAMPLES, _SEED)
    return [
        Difference(name, float(values[0][name]), float(values[1][name]), float(interval.low), float(interval.high))
        for name, interval in intervals.items()
        if _has_all(name, *values)
    ]


def _has_all(name: str, *values: Mapping[str, Metric]) -> bool:
    return all(name in metrics for metrics in values)
