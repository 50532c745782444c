"""Calibration of probabilities: its error, temperatures, an abstention threshold and their file.

SciPy is imported lazily.
"""

import abc
import dataclasses
import json
import math
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names
from bert_cli.base.json_files import JsonObject, read_json_object
from bert_cli.base.names import CALIBRATION
from bert_cli.base.writing import write_json
from bert_cli.problem_types.metrics import ProbabilityMetrics
from bert_cli.problem_types.parts import PredictionArrays, ProbabilityDecoder

BINS = 15
CONFIDENCE = 0.95  # confidence that the error of answered rows is below the bound
_MOST_LOG = math.log(32)  # temperatures are between 1/32 and 32
_RANKS = 20  # number of fractions that are tried as answered, starting with the most certain rows
_MOST_ROWS = 10_000_000  # largest number of rows that a message recommends
# Keys of calibration.json.
_TEMPERATURE, _ROWS, _ABSTAIN = "temperature", "rows", "abstain"
_ERROR, _CONFIDENCE, _UNCERTAINTY, _ANSWERED = "error", "confidence", "uncertainty", "answered"


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
        confidence: probability per prediction, float [n].
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
        uncertainty: per row, float [n].
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


@dataclasses.dataclass(frozen=True)
class Calibration:
    """Temperatures for a model's logits, and the abstention threshold.

    Attributes:
        temperatures: logit divisors, either a single one or one per label.
        rows: number of rows that the temperatures were fitted on.
        error: value of --abstain_error, 0 without it.
        abstention: threshold for --abstain_error, None without it.
    """

    temperatures: tuple[float, ...]
    rows: int
    error: float = 0.0
    abstention: Abstention | None = None

    def divide(self, logits: np.ndarray) -> np.ndarray:
        """Return logits [n, outputs] divided by the temperatures, as float64."""
        return np.asarray(logits, np.float64) / np.array(self.temperatures)

    def facts(self, labels: Sequence[str]) -> JsonObject:
        """Return the calibration as a dict for JSON.

        Args:
            labels: label of each temperature, empty if all logits share one temperature.
        """
        values = self.temperatures
        temperature = dict(zip(labels, values, strict=True)) if labels else values[0]
        facts: JsonObject = {_TEMPERATURE: temperature, _ROWS: self.rows}
        if self.abstention:
            limit = {_ERROR: self.error, _CONFIDENCE: CONFIDENCE, _UNCERTAINTY: self.abstention.uncertainty}
            facts[_ABSTAIN] = limit | {_ANSWERED: round(self.abstention.answered, 6)}
        return facts


def write_calibration(folder: str, calibration: Calibration, labels: Sequence[str]) -> None:
    """Write `calibration` as calibration.json into `folder`, whole or not at all.

    `labels` are as in Calibration.facts.
    """
    write_json(os.path.join(folder, CALIBRATION), calibration.facts(labels))


def find_calibration(folders: Iterable[str], labels: Sequence[str]) -> Calibration | None:
    """Return the first calibration.json in these directories, None if there is no such file.

    Args:
        folders: directories to search, in this order.
        labels: see Calibration.facts.

    Raises:
        InputError: the file is damaged, or was made for other labels.
    """
    paths = (os.path.join(folder, CALIBRATION) for folder in folders)
    path = next((path for path in paths if files.exists(path)), None)
    return _read(path, labels) if path else None


def _read(path: str, labels: Sequence[str]) -> Calibration:
    values = read_json_object(path, "evaluate with --calibrate again")
    stored = values.get(_TEMPERATURE)
    by_label = stored if isinstance(stored, dict) else {}
    temperatures = [by_label.get(name) for name in labels] if labels else [stored]
    if len(by_label) != len(labels) or not all(map(_is_positive, temperatures)):
        needed = f"above 0 for each of {list_names(labels)}" if labels else "above 0"
        raise InputError(f"{path}: needs a {_TEMPERATURE} {needed}; evaluate with --calibrate again")
    calibration = Calibration(tuple(float(str(temperature)) for temperature in temperatures), int(values.get(_ROWS, 0)))
    limit = values.get(_ABSTAIN)
    if limit is None:
        return calibration
    limit = limit if isinstance(limit, dict) else {}
    uncertainty = limit.get(_UNCERTAINTY)
    if not (_is_positive(uncertainty) or uncertainty == 0) or not _is_positive(limit.get(_ERROR)):
        raise InputError(f"{path}: {_ABSTAIN} is {json.dumps(limit)}; evaluate with --calibrate --abstain_error again")
    abstention = Abstention(float(uncertainty or 0), float(limit.get(_ANSWERED, 0)))
    return dataclasses.replace(calibration, error=limit[_ERROR], abstention=abstention)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")


@dataclasses.dataclass(frozen=True)
class Calibrator(abc.ABC):
    """Calibration of probabilities by temperatures that change no decision.

    Attributes:
        decoder: the problem type's decoder.
        metrics: the problem type's metrics.
    """

    decoder: ProbabilityDecoder
    metrics: ProbabilityMetrics

    def temperature_names(self, labels: Sequence[str]) -> Sequence[str]:
        """Return the labels that have separate temperatures; () if all logits share one."""
        return ()

    def load(self, folders: Iterable[str], labels: Sequence[str]) -> Calibration | None:
        """Return the first calibration.json in `folders`, which must fit `labels`, or None."""
        return find_calibration(folders, self.temperature_names(labels))

    def fit_temperatures(self, logits: np.ndarray, label_ids: np.ndarray) -> tuple[float, ...]:
        """Return the temperatures of logits [n, L] that minimize the losses."""
        logits = np.asarray(logits, np.float64)
        return (self._fit_temperature(logits, label_ids),)

    def _fit_temperature(self, logits: np.ndarray, label_ids: np.ndarray) -> float:
        return fit_temperature(
            lambda t: float(self.decoder.postprocess(logits / t, label_ids)["losses"].mean()), len(logits)
        )

    def calibrate(
        self, predictions: PredictionArrays, label_ids: np.ndarray, calibration: Calibration
    ) -> dict[str, np.ndarray]:
        """Return `predictions` with calibrated probabilities and losses for `label_ids`, float32.

        `calibration` changes no decision, even if float32 rounds two probabilities to one value.
        """
        calibrated = self.decoder.postprocess(calibration.divide(predictions["logits"]), label_ids)
        rounded = {name: values.astype(np.float32) for name, values in calibrated.items()}
        rounded["probabilities"] = self.keep_decisions(predictions["probabilities"], rounded["probabilities"])
        return {**predictions, **rounded}

    @abc.abstractmethod
    def keep_decisions(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return the probabilities `after` calibration, with the decisions from `before` it."""
