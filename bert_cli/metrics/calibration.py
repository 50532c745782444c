"""Calibration of probabilities: the expected calibration error, the temperature that lowers it, and
the uncertainty above which a classifier abstains. SciPy is imported where it is used.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

BINS = 15
CONFIDENCE = 0.95  # of the bound on the error of the rows that are answered
_MOST_LOG = math.log(32)  # temperatures are between 1/32 and 32
_RANKS = 20  # fractions of the rows, from the most certain ones on, that are tried as answered
_MOST_ROWS = 10_000_000  # that are asked for in advice


class Reliability(NamedTuple):
    """Of each bin with rows the mean confidence, the share of right rows and the number of rows."""

    confidence: np.ndarray
    accuracy: np.ndarray
    rows: np.ndarray

    @property
    def error(self) -> float:
        """The expected calibration error: the mean distance of the first two, weighted by rows."""
        return float((np.abs(self.confidence - self.accuracy) * self.rows).sum() / self.rows.sum())


def reliability(confidence: np.ndarray, is_right: np.ndarray, bins: int = BINS) -> Reliability:
    """In bins of equal width. confidence: float [n], the probability of the prediction; is_right:
    bool [n].
    """
    # A confidence of exactly 1 belongs to the last bin.
    bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    counts = np.bincount(bin_of, minlength=bins)
    some = counts > 0
    means, rights = (np.bincount(bin_of, each, bins)[some] / counts[some] for each in (confidence, is_right))
    return Reliability(means, rights, counts[some])


def fit_temperature(mean_loss: Callable[[float], float], rows: int) -> float:
    """The temperature T with the least loss (Guo et al., 2017), 6 significant digits.

    mean_loss(T): cross-entropy of the logits divided by T over `rows` rows, in nats. A weak prior,
    log T ~ N(0, 1), decides where the rows do not: where all predictions are right, the loss would
    take T to 0.
    """
    from scipy.optimize import minimize_scalar

    # Over log T: a convex function of 1/T has one minimum there as well.
    found = minimize_scalar(
        lambda log: rows * mean_loss(math.exp(log)) + log * log / 2,
        bounds=(-_MOST_LOG, _MOST_LOG),
        method="bounded",
        options={"xatol": 1e-5},
    )
    return float(f"{math.exp(found.x):.6g}")


class Abstention(NamedTuple):
    """Which rows are answered: those with an uncertainty below `uncertainty`; 0 for none.

    answered: the share of the rows that were given. needed: where it is none, about how many rows
    would allow a bound, None where no number would.
    """

    uncertainty: float
    answered: float
    needed: int | None = None


def choose_abstention(uncertainty: np.ndarray, is_wrong: np.ndarray, error: float) -> Abstention:
    """As many answers as leave their error on fresh rows below `error`, with CONFIDENCE.

    uncertainty: float [n]; is_wrong: bool [n], whether the prediction is wrong; error: of the rows
    that are answered, between 0 and 1.

    The most certain twentieth of the rows is tried as answered, then two twentieths, and so on. The
    cut is the uncertainty of the first row that is left out: given the cut, the rows below it are
    independent draws, and their errors binomial. The largest share with few enough errors is taken;
    `_critical_errors` has what the search costs. It holds for rows whose error does not fall with
    their uncertainty.
    """
    order = np.argsort(uncertainty, kind="stable")
    ascending = np.asarray(uncertainty, np.float64)[order]
    wrong = np.concatenate([[0], np.cumsum(np.asarray(is_wrong)[order])])
    # The last row is always left out: a fresh row with more uncertainty than any was never tested.
    cuts = ascending[np.unique(np.arange(1, _RANKS + 1) * (len(order) - 1) // _RANKS)]
    rows = np.unique(np.searchsorted(ascending, cuts, "left"))  # below the cut; equal rows are on one side
    passed = rows[wrong[rows] <= _critical_errors(rows, error)]
    if len(passed):
        return Abstention(float(ascending[passed[-1]]), int(passed[-1]) / len(order))
    return Abstention(0.0, 0.0, _needed(wrong, error))


def _critical_errors(rows: np.ndarray, error: float) -> np.ndarray:
    """The most errors among each number of rows, int [k] ascending, that show an error below
    `error`; -1 where no count does.

    A group-sequential test with equal nominal levels (Pocock, 1977), exact: where rows are wrong
    with probability `error`, the chance that any of the k counts is at or below its number is at
    most 1 − CONFIDENCE.
    """
    from scipy.stats import binom

    def critical(level: float) -> np.ndarray:
        # The smallest count with a probability of at least the level, less one where that is above.
        least = binom.ppf(level, rows, error).astype(int)
        return least - (binom.cdf(least, rows, error) > level)

    most = int(critical(1 - CONFIDENCE).max(initial=-1)) + 1  # with this number of errors no later count is low enough
    sizes = np.diff(rows, prepend=0)
    steps = [binom.pmf(np.arange(min(int(size), most) + 1), size, error) for size in sizes]
    lowest, highest = (1 - CONFIDENCE) / max(1, len(rows)), 1 - CONFIDENCE  # Bonferroni's level is always right
    while highest - lowest > 0.01 * highest:
        level = (lowest + highest) / 2
        is_kept = _crossing(steps, critical(level), most) <= 1 - CONFIDENCE
        lowest, highest = (level, highest) if is_kept else (lowest, level)
    return critical(lowest)


def _crossing(steps: list[np.ndarray], critical: np.ndarray, most: int) -> float:
    """The probability that a sum of independent counts is at or below `critical` after any step; a
    sum above `most` never is.
    """
    from scipy.signal import convolve

    crossed = 0.0
    alive = np.ones(1)  # by the sum, without those that crossed
    for step, bound in zip(steps, critical.tolist(), strict=True):
        alive = convolve(alive, step)[: most + 1]
        crossed += float(alive[: bound + 1].sum())
        alive[: bound + 1] = 0.0
    return crossed


def _needed(wrong: np.ndarray, error: float) -> int | None:
    """About how many rows would allow a bound if they were as these; None where no number would.

    wrong: int [n + 1], the errors among the k most certain of n rows.
    """
    from scipy.stats import binom

    total = len(wrong) - 1
    counts = np.arange(1, _RANKS + 1) * total // _RANKS
    factor = 1.0
    while total and total * factor <= _MOST_ROWS:
        # A single test at the level that one of many has.
        chance = binom.cdf(np.ceil(wrong[counts] * factor), np.floor(counts * factor), error)
        if chance.min() <= (1 - CONFIDENCE) / 4:
            digits = 10 ** max(0, len(str(int(total * factor))) - 2)  # rounded up to two digits
            return math.ceil(total * factor / digits) * digits
        factor *= 1.1
    return None
