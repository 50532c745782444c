"""Metrics for tasks with a choice or a number, and facts that all tasks share.

Metrics of labels are in metrics/single_label.py and metrics/multi_label.py. scikit-learn and SciPy are imported lazily.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from bert_cli.base.errors import InputError

# A task's metric, as its row names it -> the keys of eval_results.txt.
MAIN_METRICS = {
    "accuracy": ("eval_accuracy",),
    "accuracy_f1": ("eval_accuracy", "eval_f1"),
    "mcc": ("eval_mcc",),
    "pearson_spearman": ("eval_pearson", "eval_spearman"),
}
# Metrics from losses_metrics, which every problem type has.
LOSSES = ("eval_loss", "loss")
CORRELATIONS = ("eval_pearson", "eval_spearman")
# The metric that is of one label if there are two, see metrics.single_label.
BINARY_F1 = "eval_f1"

# Modules for the metrics and for the baselines' linear models that take long to import.
SLOW_PACKAGES = ("sklearn.metrics", "scipy.stats", "sklearn.feature_extraction.text", "sklearn.linear_model")


def known_metrics(metrics: tuple[str, ...], task_metric: str | None = None) -> tuple[str, ...]:
    """Return a problem type's metrics, the task's main metric first.

    Args:
        metrics: metrics of the problem type, main metric first.
        task_metric: a key of MAIN_METRICS, None if the task has no special metric.
    """
    first = MAIN_METRICS[task_metric][:1] if task_metric else metrics[:1]
    return tuple(dict.fromkeys([*first, *metrics]))


def main_metrics(name: str, results: Mapping[str, object]) -> dict[str, object]:
    """Return the results that a task is measured by, without undefined ones.

    Args:
        name: a key of MAIN_METRICS.
        results: all results from an evaluation.
    """
    return {key: results[key] for key in MAIN_METRICS[name] if key in results}


def check_finite(predictions: np.ndarray) -> None:
    """Raise InputError if a prediction is NaN or infinite, which would spoil the metrics."""
    if not np.isfinite(predictions).all():
        raise InputError("the model gives NaN instead of predictions; its training diverged, use another checkpoint")


def predict_labels(probabilities: np.ndarray, thresholds: np.ndarray | None = None) -> np.ndarray:
    """Return the index of each row's predicted label, int [n].

    It is the most probable label, the first one in a tie. If one of two labels has a threshold, this
    label is predicted from its threshold on, and otherwise the other one.

    Args:
        probabilities: float [n, labels].
        thresholds: float64 [2] with one number, NaN for the other label; None for any number of labels.
    """
    if thresholds is None:
        return probabilities.argmax(axis=1)
    [label] = np.flatnonzero(~np.isnan(thresholds))
    # Compare in float64, as multi-label classification does.
    return np.where(probabilities[:, label].astype(np.float64) >= thresholds[label], label, 1 - label)


def losses_metrics(
    losses: np.ndarray, batch_size: int, weights: np.ndarray | None = None
) -> dict[str, np.float32 | int]:
    """Return eval_loss, loss and eval_examples, see single_label.classification_metrics.

    Args:
        losses: loss per example, float [n], n > 0.
        batch_size: batch size that the original uses in evaluation.
        weights: weight per example, above 0; None for equal weights. Google's code has no weights,
            so the two means are equal then.
    """
    if weights is not None:
        mean = np.float32(np.average(np.asarray(losses, np.float64), weights=weights))
        return {"eval_loss": mean, "loss": mean, "eval_examples": len(losses)}
    return {
        "eval_loss": np.float32(np.mean(losses, dtype=np.float64)),
        "loss": np.float32(mean_of_batch_means(losses, batch_size)),
        "eval_examples": len(losses),
    }


def mean_of_batch_means(losses: np.ndarray, batch_size: int) -> float:
    """Return the mean of the mean losses in batches of `batch_size` consecutive examples."""
    # The original averages over batches, so rows in a short last batch count more.
    losses = np.asarray(losses, np.float64)
    return float(np.mean([losses[start : start + batch_size].mean() for start in range(0, len(losses), batch_size)]))


def choice_metrics(
    label_ids: np.ndarray,
    losses: np.ndarray,
    probabilities: np.ndarray,
    batch_size: int,
    weights: np.ndarray | None = None,
) -> dict[str, np.float32 | int]:
    """Return accuracy and losses of multiple choice.

    A choice's index is not a class, so MCC and F1 have no meaning.

    Args:
        label_ids: int [n], n > 0.
        losses: float [n].
        probabilities: float [n, choices].
        batch_size: the original's batch size in evaluation.
        weights: weight per example, float [n], above 0; None for equal weights.

    Raises:
        InputError: a probability is NaN.
    """
    check_finite(probabilities)
    right = np.asarray(probabilities).argmax(axis=1) == np.asarray(label_ids)
    accuracy = right.mean() if weights is None else np.average(right, weights=weights)
    return {"eval_accuracy": np.float32(accuracy), **losses_metrics(losses, batch_size, weights)}


def classification_report(
    label_ids: np.ndarray,
    probabilities: np.ndarray,
    label_names: Sequence[str],
    thresholds: np.ndarray | None = None,
) -> dict:
    """Return the scores of each class and the confusion matrix, ready for JSON.

    The dict is {"classes": {name: {"precision", "recall", "f1", "support"}}, "confusion_matrix":
    [[int]]}. Matrix rows are labels and columns are predictions, in the order of `label_names`. An
    undefined ratio (0 / 0) is 0.

    Args:
        label_ids: int [n].
        probabilities: float [n, labels].
        label_names: label names, in the order of label ids.
        thresholds: see predict_labels.
    """
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    # Include labels that no example has: the matrix has a row for each label.
    indices = list(range(len(label_names)))
    predicted = predict_labels(np.asarray(probabilities), thresholds)
    *ratios, _ = precision_recall_fscore_support(label_ids, predicted, labels=indices, zero_division=0)
    matrix = confusion_matrix(label_ids, predicted, labels=indices)
    # Do not use scikit-learn's support, which is a float if no prediction is correct.
    columns = [*ratios, matrix.sum(axis=1)]
    rows = zip(*(column.tolist() for column in columns), strict=True)
    scores = [dict(zip(("precision", "recall", "f1", "support"), row, strict=True)) for row in rows]
    return {"classes": dict(zip(label_names, scores, strict=True)), "confusion_matrix": matrix.tolist()}


def format_report(report: dict) -> list[str]:
    """Return the result of classification_report as table lines for the log."""
    names = list(report["classes"])
    width = max(len(name) for name in [*names, "label"])
    lines = [f"{'label':<{width}}  precision  recall      f1  support"]
    for name, scores in report["classes"].items():
        lines.append(
            f"{name:<{width}}  {scores['precision']:9.4f}  {scores['recall']:6.4f}  {scores['f1']:6.4f}"
            f"  {scores['support']:7d}"
        )
    cell = max(9, *(len(name) for name in names))
    lines.append("rows: label, columns: prediction")
    lines.append(" ".join([" " * width, *(f"{name:>{cell}}" for name in names)]))
    for name, counts in zip(names, report["confusion_matrix"], strict=True):
        lines.append(" ".join([f"{name:<{width}}", *(f"{count:>{cell}}" for count in counts)]))
    return lines


def has_correlations(values: np.ndarray) -> bool:
    """Return whether predictions can have a correlation with these values.

    Equal values have no correlation. Two values always have a correlation of 1 or -1.
    """
    return len(values) > 2 and bool(np.ptp(values) > 0)


def regression_metrics(
    values: np.ndarray,
    losses: np.ndarray,
    predicted: np.ndarray,
    batch_size: int,
    weights: np.ndarray | None = None,
) -> dict[str, np.float32 | int]:
    """Return the metrics of predicted numbers: float32 scalars, and the number of examples.

    eval_pearson, eval_spearman  correlation of values and of ranks, -1…1; equal values share a rank; left out
                                 if all predictions are equal, or without has_correlations
    eval_rmse                    root of the mean squared error, in the unit of the values
    eval_mae                     mean absolute error, in the unit of the values
    eval_loss, loss              mean squared error, see single_label.classification_metrics
    eval_examples                n

    Args:
        values: float [n], n > 0, in file order like the other arrays.
        losses: squared errors, float [n].
        predicted: float [n].
        batch_size: the original's batch size in evaluation.
        weights: weight per example, float [n], above 0; None for equal weights. They do not change the
            ranks of eval_spearman.

    Raises:
        InputError: a prediction is NaN.
    """
    from scipy.stats import pearsonr, rankdata, spearmanr
    from sklearn.metrics import mean_absolute_error, root_mean_squared_error

    check_finite(predicted)
    values, predicted = np.asarray(values, np.float64), np.asarray(predicted, np.float64)
    correlations: dict[str, np.float32 | int] = {}
    # A correlation with a constant is undefined: SciPy would warn and give NaN. A value such as 0
    # would be better than a negative correlation, and could become the best evaluation.
    if has_correlations(values) and np.ptp(predicted) > 0:
        statistics = [correlation(values, predicted).statistic for correlation in (pearsonr, spearmanr)]
        if weights is not None:
            pearson = _weighted_correlation(values, predicted, weights)
            statistics = [pearson, _weighted_correlation(rankdata(values), rankdata(predicted), weights)]
        correlations = dict(zip(CORRELATIONS, map(np.float32, statistics), strict=True))
    return {
        **correlations,
        "eval_rmse": np.float32(root_mean_squared_error(values, predicted, sample_weight=weights)),
        "eval_mae": np.float32(mean_absolute_error(values, predicted, sample_weight=weights)),
        **losses_metrics(losses, batch_size, weights),
    }


def _weighted_correlation(first: np.ndarray, second: np.ndarray, weights: np.ndarray) -> float:
    covariance = np.cov(first, second, aweights=weights)
    return float(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))
