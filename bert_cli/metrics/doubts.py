"""Measures of doubt that rank predicted texts for annotators (Settles, 2009)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Doubt(NamedTuple):
    """A measure of doubt.

    Attributes:
        of_label: returns the measure [n] for probabilities [n, L] of one label per row.
        of_labels: returns the measure [n] for probabilities [n, L] and thresholds [L], NaN for none.
        is_lowest_first: whether a low value means more doubt.
    """

    of_label: Callable[[np.ndarray], np.ndarray]
    of_labels: Callable[[np.ndarray, np.ndarray], np.ndarray]
    is_lowest_first: bool = False

    def order(self, values: np.ndarray) -> np.ndarray:
        """Return row numbers, most doubt first; ties keep the order of rows."""
        return np.argsort(values if self.is_lowest_first else -values, kind="stable")


def _margin(probabilities: np.ndarray) -> np.ndarray:
    """Return the difference between the two largest probabilities."""
    second, first = np.sort(probabilities, axis=1)[:, -2:].T
    return first - second


def _entropy_terms(probabilities: np.ndarray) -> np.ndarray:
    """Return -p log p, using 0 for p = 0."""
    return -probabilities * np.log(np.where(probabilities > 0, probabilities, 1.0))


def _entropy(probabilities: np.ndarray) -> np.ndarray:
    """Return the entropy divided by its maximum, 0 to 1."""
    return _entropy_terms(probabilities).sum(axis=1) / np.log(probabilities.shape[1])


def _mean_entropy(probabilities: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return the mean over labels of the entropy of yes and no, 0 to 1."""
    both = _entropy_terms(probabilities) + _entropy_terms(1.0 - probabilities)
    return both.mean(axis=1) / np.log(2)


def _nearest_threshold(probabilities: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return the smallest distance between a probability and its threshold; skip NaN."""
    return np.nanmin(np.abs(probabilities - thresholds), axis=1)


# Keys are values of --to_label, and columns of to_label.tsv.
DOUBTS = {
    "margin": Doubt(_margin, _nearest_threshold, is_lowest_first=True),
    "entropy": Doubt(_entropy, _mean_entropy),
}
