"""Calibration of probabilities: expected calibration error, temperature and abstention threshold.

SciPy is imported lazily.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

BINS = 15
CONFIDENCE = 0.95  # confidence that the error of answered rows is below the bound
_MOST_LOG = math.log(32)  # temperatures are between 1/32 and 32
_RANKS = 20  # number of fractions that are tried as answered, starting with the most certain rows
_MOST_ROWS = 10_000_000  # largest number of rows that a message recommends


class Reliability(NamedTuple):
    """Statistics of the bins that contain rows.

    Attributes:
        confidence: mean confidence in each bin.
        accuracy: share of correct rows in each bin.
        rows: number of rows in each bin.
    """

    confidence: np.ndarray
    accuracy: np.ndarray
    rows: np.ndarray

    @property
    def error(self) -> float:
        """Return the expected calibration error: mean |confidence - accuracy|, weighted by rows."""
        return float((np.abs(self.confidence - self.accuracy) * self.rows).sum() / self.rows.sum())


def reliability(confidence: np.ndarray, is_right: np.ndarray, bins: int = BINS) -> Reliability:
    """Return the reliability in bins of equal width.

    Args:
        confidence: probability of each prediction, float [n].
        is_right: whether each prediction is correct, bool [n].
        bins: number of bins.
    """
    # A confidence of exactly 1 belongs to the last bin.
    bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    counts = np.bincount(bin_of, minlength=bins)
    is_nonempty = counts > 0
    means, rights = (
        np.bincount(bin_of, row_values, bins)[is_nonempty] / counts[is_nonempty]
        for row_values in (confidence, is_right)
    )
    return Reliability(means, rights, counts[is_nonempty])


def fit_temperature(mean_loss: Callable[[float], float], rows: int) -> float:
    """Return the temperature with the least loss (Guo et al., 2017), with 6 significant digits.

    A weak prior, log T ~ N(0, 1), decides if the rows do not: if all predictions are correct, the
    loss alone would push T to 0.

    Args:
        mean_loss: function from T to the mean cross-entropy of logits / T, in nats.
        rows: number of rows in that mean.
    """
    from scipy.optimize import minimize_scalar

    # Minimize over log T: a convex function of 1/T has a single minimum there as well.
    minimum = minimize_scalar(
        lambda log_temperature: rows * mean_loss(math.exp(log_temperature)) + log_temperature * log_temperature / 2,
        bounds=(-_MOST_LOG, _MOST_LOG),
        method="bounded",
        options={"xatol": 1e-5},
    )
    return float(f"{math.exp(minimum.x):.6g}")


class Abstention(NamedTuple):
    """Rule for abstaining: only rows with an uncertainty below `uncertainty` are answered.

    Attributes:
        uncertainty: the threshold, 0 if no row is answered.
        answered: share of answered rows in the calibration data.
        needed: if no row is answered, about how many rows would allow a threshold; None if no
            number would.
    """

    uncertainty: float
    answered: float
    needed: int | None = None


def choose_abstention(uncertainty: np.ndarray, is_wrong: np.ndarray, error: float) -> Abstention:
    """Choose the largest share of answers that keeps their error below `error`, with CONFIDENCE.

    The most certain twentieth of rows is tried as answered, then two twentieths, and so on. The cut
    is the uncertainty of the first row that is not answered. Given the cut, rows below it are
    independent draws, and their errors are binomial. The largest share with few enough errors wins;
    `_critical_errors` accounts for the search. The bound assumes that error does not fall with
    uncertainty.

    Args:
        uncertainty: uncertainty of each row, float [n].
        is_wrong: whether each prediction is wrong, bool [n].
        error: maximum error rate among answered rows on new data, between 0 and 1.
    """
    order = np.argsort(uncertainty, kind="stable")
    ascending = np.asarray(uncertainty, np.float64)[order]
    wrong = np.concatenate([[0], np.cumsum(np.asarray(is_wrong)[order])])
    # Never answer the last row: nothing was tested for new rows with more uncertainty.
    cuts = ascending[np.unique(np.arange(1, _RANKS + 1) * (len(order) - 1) // _RANKS)]
    rows = np.unique(np.searchsorted(ascending, cuts, "left"))  # rows below each cut; equal rows are on the same side
    passed = rows[wrong[rows] <= _critical_errors(rows, error)]
    if len(passed):
        return Abstention(float(ascending[passed[-1]]), int(passed[-1]) / len(order))
    return Abstention(0.0, 0.0, _find_needed_rows(wrong, error))


def _critical_errors(rows: np.ndarray, error: float) -> np.ndarray:
    """Return the most errors, per number of rows, that still show an error rate below `error`.

    This is an exact group-sequential test with equal nominal levels (Pocock, 1977). If rows are
    wrong with probability `error`, the chance that any of the k counts is at or below its limit is
    at most 1 − CONFIDENCE.

    Args:
        rows: numbers of rows, int [k], ascending.
        error: error rate, between 0 and 1.

    Returns:
        Limits, int [k], -1 if no count shows such an error rate.
    """
    from scipy.stats import binom

    def critical(level: float) -> np.ndarray:
        # Take the smallest count that reaches the level, minus 1 if it exceeds the level.
        least = binom.ppf(level, rows, error).astype(int)
        return least - (binom.cdf(least, rows, error) > level)

    most = int(critical(1 - CONFIDENCE).max(initial=-1)) + 1  # with this many errors, no later count is low enough
    sizes = np.diff(rows, prepend=0)
    steps = [binom.pmf(np.arange(min(int(size), most) + 1), size, error) for size in sizes]
    lowest, highest = (1 - CONFIDENCE) / max(1, len(rows)), 1 - CONFIDENCE  # Bonferroni's level is always valid
    while highest - lowest > 0.01 * highest:
        level = (lowest + highest) / 2
        is_kept = _crossing(steps, critical(level), most) <= 1 - CONFIDENCE
        lowest, highest = (level, highest) if is_kept else (lowest, level)
    return critical(lowest)


def _crossing(steps: list[np.ndarray], critical: np.ndarray, most: int) -> float:
    """Return the probability that a sum of independent counts is ever at or below its limit.

    The sum is compared after each step. A sum above `most` can no longer be at or below a limit.
    """
    from scipy.signal import convolve

    crossed = 0.0
    alive = np.ones(1)  # probability by sum, without sums that were at or below a limit
    for pmf, limit in zip(steps, critical.tolist(), strict=True):
        alive = convolve(alive, pmf)[: most + 1]
        crossed += float(alive[: limit + 1].sum())
        alive[: limit + 1] = 0.0
    return crossed


def _find_needed_rows(wrong: np.ndarray, error: float) -> int | None:
    """Return about how many rows like these would allow a threshold; None if no number would.

    Args:
        wrong: errors among the k most certain of n rows, int [n + 1].
        error: maximum error rate among answered rows.
    """
    from scipy.stats import binom

    total = len(wrong) - 1
    counts = np.arange(1, _RANKS + 1) * total // _RANKS
    factor = 1.0
    while total and total * factor <= _MOST_ROWS:
        # Use a single test, at the level that each of many tests has.
        chance = binom.cdf(np.ceil(wrong[counts] * factor), np.floor(counts * factor), error)
        if chance.min() <= (1 - CONFIDENCE) / 4:
            digits = 10 ** max(0, len(str(int(total * factor))) - 2)  # round up to two digits
            return math.ceil(total * factor / digits) * digits
        factor *= 1.1
    return None
