"""Areas under the curves of one label: ROC, and precision over recall."""

import numpy as np


def _cumulative(probability: np.ndarray, has_label: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the total weight of rows with a label, and without it, at or above each probability.

    Probabilities fall, and equal ones are one entry. Use float64 [probabilities] for both arrays.
    """
    # Equal probabilities are on the same side of a cut, so the order among them does not matter.
    order = np.argsort(-probability)
    is_cut = np.append(np.diff(probability[order]) < 0, True)
    weights, has_label = weights[order], has_label[order]
    return np.cumsum(weights * has_label)[is_cut], np.cumsum(weights * ~has_label)[is_cut]


def area_under_roc(probability: np.ndarray, has_label: np.ndarray, weights: np.ndarray) -> float:
    """Return the area under the ROC curve.

    Args:
        probability: the label's probability in each row, float [n].
        has_label: whether a row has the label, bool [n]; some rows have it, and some do not.
        weights: row weights, float64 [n].
    """
    hits, misses = _cumulative(probability, has_label, weights)
    heights = hits - np.diff(hits, prepend=0.0) / 2
    return float((np.diff(misses, prepend=0.0) * heights).sum() / (hits[-1] * misses[-1]))


def mean_precision(probability: np.ndarray, has_label: np.ndarray, weights: np.ndarray) -> float:
    """Return the mean precision at each gain in recall (average precision).

    Args:
        probability, weights: see area_under_roc.
        has_label: whether a row has the label, bool [n]; at least one row has it.
    """
    hits, misses = _cumulative(probability, has_label, weights)
    # Rows with a weight of 0 may come first.
    totals = hits + misses
    precision = np.divide(hits, totals, out=np.zeros(len(hits)), where=totals > 0)
    return float((np.diff(hits, prepend=0.0) * precision).sum() / hits[-1])
