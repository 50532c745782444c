"""Confidence intervals for metrics, from resampled rows (the percentile bootstrap of Efron, 1979)."""

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

import numpy as np

from bert_cli.metrics.selection import Metric

CONFIDENCE = 0.95
_LOW, _HIGH = "_low", "_high"


class Interval(NamedTuple):
    """A metric's confidence interval.

    Attributes:
        low, high: its ends, as float32.
        samples: number of samples.
        undefined: number of samples that do not define the metric, which are left out.
    """

    low: np.float32
    high: np.float32
    samples: int
    undefined: int = 0


class Intervals(dict[str, Interval]):
    """Confidence intervals by metric."""

    def results(self) -> dict[str, Metric]:
        """Return the ends under their names in eval_results.txt, such as eval_f1_low."""
        ends = ((name, ((_LOW, interval.low), (_HIGH, interval.high))) for name, interval in self.items())
        return {f"{name}{suffix}": value for name, pairs in ends for suffix, value in pairs}

    def lines(self) -> list[str]:
        """Return a table for the log, [] without intervals."""
        width = max(map(len, self), default=0)
        lines: list[str] = []
        for name, (low, high, samples, undefined) in self.items():
            lines = lines or [f"{CONFIDENCE:.0%} confidence intervals, using {samples:,} samples of the rows"]
            note = f"  (undefined in {undefined:,} samples)" if undefined else ""
            lines.append(f"{name:<{width}}  {low:.4f} to {high:.4f}{note}")
        return lines


def bootstrap(
    measure: Callable[[np.ndarray], Mapping[str, Metric]],
    names: Collection[str],
    num_rows: int,
    samples: int,
    seed: int,
) -> Intervals:
    """Return an interval for each metric that at least half of the samples define.

    Args:
        measure: function from row numbers, int64 [num_rows], to metrics of these rows.
        names: metrics to return.
        num_rows: number of rows, at least 1.
        samples: number of samples, each of `num_rows` rows with replacement.
        seed: seed for the samples; using it again gives the same intervals.
    """
    rng = np.random.default_rng(seed)
    measured = [measure(rng.integers(0, num_rows, num_rows)) for _ in range(samples)]
    intervals = Intervals()
    for name in names:
        values = [float(metrics[name]) for metrics in measured if name in metrics]
        if 2 * len(values) >= samples:
            tail = 100 * (1 - CONFIDENCE) / 2
            low, high = np.percentile(values, [tail, 100 - tail])
            intervals[name] = Interval(np.float32(low), np.float32(high), samples, samples - len(values))
    return intervals


def is_end(name: str, names: Collection[str]) -> bool:
    """Return whether a result is the end of an interval.

    Args:
        name: the result's name.
        names: the names of all results.
    """
    return any(name.endswith(end) and name.removesuffix(end) in names for end in (_LOW, _HIGH))
