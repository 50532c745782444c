"""Metrics of tasks with one label per text: a table with a row per metric, and weighted rows."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bert_cli.metrics.classification import BINARY_F1, LOSSES, check_finite, losses_metrics, predict_labels
from bert_cli.metrics.curves import area_under_roc, mean_precision

_INTEGER = re.compile(r"[-+]?\d+")
_TOP_K = (2, 3, 5)


@dataclass(frozen=True)
class ScoredRows:
    """Rows with one label each, and the probabilities that a model gives them.

    Attributes:
        label_ids: int [n].
        probabilities: float [n, labels].
        label_names: label names, in label id order.
        positive: the class that F1, ROC-AUC and average precision use; None to use means over classes.
        weights: row weights, float [n], at least 0; None to count each row once.
        thresholds: see predict_labels.
    """

    label_ids: np.ndarray
    probabilities: np.ndarray
    label_names: Sequence[str]
    positive: int | None = None
    weights: np.ndarray | None = None
    thresholds: np.ndarray | None = None

    @cached_property
    def row_weights(self) -> np.ndarray:
        return np.ones(len(self.label_ids)) if self.weights is None else np.asarray(self.weights, np.float64)

    @cached_property
    def predicted(self) -> np.ndarray:
        """Return each row's predicted class, int [n]."""
        return predict_labels(self.probabilities, self.thresholds)

    @cached_property
    def confusion(self) -> np.ndarray:
        """Return the total weight by label (row) and prediction (column), float64 [labels, labels]."""
        count = self.probabilities.shape[1]
        cells = np.bincount(self.label_ids * count + self.predicted, self.row_weights, count * count)
        return cells.reshape(count, count)

    @cached_property
    def support(self) -> np.ndarray:
        """Return the total weight by label, float64 [labels]."""
        return self.confusion.sum(axis=1)

    @cached_property
    def f1(self) -> np.ndarray:
        """Return F1 by class, using 0 for 0 / 0, float64 [labels]."""
        return _ratio(2 * self.confusion.diagonal(), self.confusion.sum(axis=0) + self.support)

    @property
    def curve_classes(self) -> Sequence[int]:
        """Return the classes that ROC-AUC and average precision use."""
        return np.flatnonzero(self.support).tolist() if self.positive is None else [self.positive]

    def mean(self, values: np.ndarray) -> float:
        """Return the weighted mean of a value per row [n]."""
        return float(np.average(values, weights=self.weights))


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return numerator / denominator, 0 for 0 / 0."""
    return np.divide(numerator, denominator, out=np.zeros(len(numerator)), where=denominator > 0)


def _matthews(rows: ScoredRows) -> float:
    """Return Matthews' correlation, -1…1; use 0 if all predictions are the same class."""
    predicted, total = rows.confusion.sum(axis=0), rows.confusion.sum()
    covariance = rows.confusion.trace() * total - rows.support @ predicted
    product = (total**2 - predicted @ predicted) * (total**2 - rows.support @ rows.support)
    return float(covariance / math.sqrt(product)) if product > 0 else 0.0


def _macro_f1(rows: ScoredRows) -> float:
    return float(rows.f1[(rows.confusion.sum(axis=0) + rows.support) > 0].mean())


def _f1(rows: ScoredRows) -> float:
    # As in GLUE's MRPC and QQP, use the F1 of "is a paraphrase", not its mean with the other label.
    return _macro_f1(rows) if rows.positive is None else float(rows.f1[rows.positive])


def _weighted_f1(rows: ScoredRows) -> float:
    return float(np.average(rows.f1, weights=rows.support))


def _balanced_accuracy(rows: ScoredRows) -> float:
    has_rows = rows.support > 0
    return float((rows.confusion.diagonal()[has_rows] / rows.support[has_rows]).mean())


def _kappa(rows: ScoredRows, costs: np.ndarray) -> float:
    """Return Cohen's kappa: 1 - the cost of the confusion / its cost by chance.

    Args:
        rows: labeled rows.
        costs: cost by label (row) and prediction (column), [labels, labels].
    """
    by_chance = np.outer(rows.support, rows.confusion.sum(axis=0)) / rows.confusion.sum()
    return float(1 - (rows.confusion * costs).sum() / (by_chance * costs).sum())


def _plain_kappa(rows: ScoredRows) -> float:
    return _kappa(rows, 1 - np.eye(len(rows.support)))


def _quadratic_kappa(rows: ScoredRows) -> float:
    numbers = np.array([int(name) for name in rows.label_names], np.float64)
    return _kappa(rows, (numbers[:, np.newaxis] - numbers) ** 2)


def _mean_over_curves(rows: ScoredRows, measure: Callable[[np.ndarray, np.ndarray, np.ndarray], float]) -> float:
    """Return a measure of curves, or its mean; see ScoredRows.curve_classes."""
    return float(
        np.mean(
            [
                measure(rows.probabilities[:, label], rows.label_ids == label, rows.row_weights)
                for label in rows.curve_classes
            ]
        )
    )


def _brier(rows: ScoredRows) -> float:
    """Return the squared error of probabilities, summed over classes; of two, use one."""
    errors = rows.probabilities.astype(np.float64)
    errors[np.arange(len(errors)), rows.label_ids] -= 1
    return rows.mean((errors**2).sum(axis=1)) / (2 if len(rows.support) == 2 else 1)


def _top_k(k: int) -> Callable[[ScoredRows], float]:
    def accuracy(rows: ScoredRows) -> float:
        gold = np.take_along_axis(rows.probabilities, rows.label_ids[:, np.newaxis], axis=1)
        is_earlier = np.arange(rows.probabilities.shape[1]) < rows.label_ids[:, np.newaxis]
        # As in `predicted`, the first class wins a tie.
        better = (rows.probabilities > gold) | ((rows.probabilities == gold) & is_earlier)
        return rows.mean(better.sum(axis=1) < k)

    return accuracy


class SingleLabelMetric(NamedTuple):
    """A row of the table.

    Attributes:
        name: key of eval_results.txt.
        compute: returns the metric of rows that define it.
        is_contrast: whether it is undefined, or the same for all predictions, if all rows have one label.
        needs_positive: whether it is undefined if no row has the positive class.
        applies: whether it has a meaning for these label names.
    """

    name: str
    compute: Callable[[ScoredRows], float]
    is_contrast: bool = False
    needs_positive: bool = False
    applies: Callable[[Sequence[str]], bool] = lambda label_names: True


def _are_grades(label_names: Sequence[str]) -> bool:
    """Return whether labels are numbers with different distances: whole ones, and more than two."""
    return len(label_names) > 2 and all(_INTEGER.fullmatch(name) for name in label_names)


def _exceeds(count: int) -> Callable[[Sequence[str]], bool]:
    return lambda label_names: len(label_names) > count


METRICS = (
    SingleLabelMetric("eval_accuracy", lambda rows: rows.mean(rows.predicted == rows.label_ids)),
    SingleLabelMetric("eval_mcc", _matthews, is_contrast=True),
    SingleLabelMetric(BINARY_F1, _f1, needs_positive=True),
    SingleLabelMetric("eval_macro_f1", _macro_f1),
    SingleLabelMetric("eval_weighted_f1", _weighted_f1),
    SingleLabelMetric("eval_roc_auc", lambda rows: _mean_over_curves(rows, area_under_roc), is_contrast=True),
    SingleLabelMetric("eval_average_precision", lambda rows: _mean_over_curves(rows, mean_precision), is_contrast=True),
    SingleLabelMetric("eval_balanced_accuracy", _balanced_accuracy),
    SingleLabelMetric("eval_kappa", _plain_kappa, is_contrast=True),
    SingleLabelMetric("eval_quadratic_kappa", _quadratic_kappa, is_contrast=True, applies=_are_grades),
    SingleLabelMetric("eval_brier", _brier),
    *(SingleLabelMetric(f"eval_top{k}_accuracy", _top_k(k), applies=_exceeds(k)) for k in _TOP_K),
)
_BEFORE_LOSSES = METRICS[:3]


def metric_names(label_names: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of eval_results.txt for a model with these labels, the main metric first."""
    names = [metric.name for metric in METRICS if metric.applies(label_names)]
    count = len(_BEFORE_LOSSES)
    return (*names[:count], *LOSSES, *names[count:])


def undefined_scores(label_ids: np.ndarray, label_names: Sequence[str], positive: int | None) -> dict[str, str]:
    """Return metrics of one label per text that no predictions can define: name -> reason.

    A number for them, such as 0, would be the same for all predictions, and the first evaluation
    would be the best one for ever.

    Args:
        label_ids: int [n], n > 0.
        label_names: label names, in label id order.
        positive: the class that eval_f1 is of, None if it is the mean over classes.
    """
    classes = np.unique(label_ids)
    metrics = [metric for metric in METRICS if metric.applies(label_names)]
    reasons = {}
    if len(classes) < 2:
        reason = f"all rows of the evaluated data have the label {label_names[classes[0]]}"
        reasons = {metric.name: reason for metric in metrics if metric.is_contrast}
    if positive is not None and positive not in classes:
        reason = f"no row of the evaluated data has the label {label_names[positive]}"
        reasons |= {metric.name: reason for metric in metrics if metric.needs_positive}
    return reasons


def classification_metrics(
    label_ids: np.ndarray,
    losses: np.ndarray,
    probabilities: np.ndarray,
    label_names: Sequence[str],
    batch_size: int,
    positive: int | None = None,
    weights: np.ndarray | None = None,
    thresholds: np.ndarray | None = None,
) -> dict[str, np.float32 | int]:
    """Return the metrics of an evaluation: float32 scalars, and the number of examples.

    eval_accuracy           fraction of examples with their label as the predicted class, see predict_labels
    eval_loss               mean over examples
    loss                    mean over batches of the batch means; differs from eval_loss if the last batch is short
    eval_mcc                Matthews' correlation, -1…1; 0 if all predictions are the same class
    eval_f1                 F1 of class `positive`, or else eval_macro_f1
    eval_examples           n
    eval_macro_f1           mean F1 over the classes that are an example's label or prediction
    eval_weighted_f1        the same, weighted by the examples with the label
    eval_roc_auc            for class `positive`, or else the mean over classes that examples have
    eval_average_precision  for the same classes
    eval_balanced_accuracy  mean recall over classes that examples have
    eval_kappa              Cohen's kappa
    eval_quadratic_kappa    Cohen's kappa with squared distances, for labels that are whole numbers
    eval_brier              mean squared error of the probabilities, summed over classes; with two, of one
    eval_topK_accuracy      fraction of examples with their label among the K most probable ones, of more labels

    The first three are the original's. Undefined metrics are left out, see undefined_scores.

    Args:
        label_ids: int [n], n > 0, in file order like the other arrays.
        losses: cross entropy of each example, float [n].
        probabilities: float [n, labels].
        label_names: label names, in label id order.
        batch_size: the original's batch size in evaluation, which changes its `loss`.
        positive: the class that eval_f1 is of, None to average over classes.
        weights: weight per example, float [n], above 0; None for equal weights.
        thresholds: see predict_labels.

    Raises:
        InputError: a probability is NaN.
    """
    check_finite(probabilities)
    rows = ScoredRows(np.asarray(label_ids), np.asarray(probabilities), label_names, positive, weights, thresholds)
    undefined = undefined_scores(rows.label_ids, label_names, positive)
    defined = [metric for metric in METRICS if metric.name not in undefined and metric.applies(label_names)]
    values = {metric.name: np.float32(metric.compute(rows)) for metric in defined}
    first = {metric.name: values.pop(metric.name) for metric in _BEFORE_LOSSES if metric.name in values}
    return {**first, **losses_metrics(losses, batch_size, weights), **values}
