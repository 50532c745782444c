"""Metrics for tasks with one label, a choice or a number.

Multi-label metrics are in metrics/multi_label.py. scikit-learn and SciPy are imported lazily.
"""

import math
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
# The metric that is of one label if there are two, see classification_metrics.
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


def check_numbers(predictions: np.ndarray) -> None:
    """Raise InputError if a prediction is NaN or infinite, which would spoil the metrics."""
    if not np.isfinite(predictions).all():
        raise InputError("the model gives NaN instead of predictions; its training diverged, use another checkpoint")


def losses_metrics(losses: np.ndarray, batch_size: int) -> dict[str, np.float32 | int]:
    """Return eval_loss, loss and eval_examples, see classification_metrics.

    Args:
        losses: loss per example, float [n], n > 0.
        batch_size: batch size that the original uses in evaluation.
    """
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


def matthews_correlation(label_ids: np.ndarray, predicted: np.ndarray) -> float:
    """Return Matthews' correlation coefficient, -1…1; 0 if all predictions are the same class."""
    from sklearn.metrics import matthews_corrcoef

    if len(np.unique(label_ids)) < 2 or len(np.unique(predicted)) < 2:
        return 0.0  # scikit-learn returns 0, too, but warns
    return float(matthews_corrcoef(label_ids, predicted))


def roc_auc(label_ids: np.ndarray, probabilities: np.ndarray, positive: int | None) -> float:
    """Return the area under the ROC curve of class `positive`, or else its mean over classes.

    The mean is over classes that some examples have and some do not, each against all others. The
    area is NaN if all examples have the same class.

    Args:
        label_ids: int [n].
        probabilities: float [n, labels].
        positive: a class, or None.
    """
    from sklearn.metrics import roc_auc_score

    if len(np.unique(label_ids)) < 2:
        return math.nan
    classes = np.unique(label_ids) if positive is None else [positive]
    return float(np.mean([roc_auc_score(label_ids == label, probabilities[:, label]) for label in classes]))


def undefined_scores(label_ids: np.ndarray, label_names: Sequence[str], positive: int | None) -> dict[str, str]:
    """Return metrics of one label per text that no predictions can define: name -> reason.

    A number for them, such as 0, would be the same for all predictions, and the first evaluation
    would be the best one for ever.

    Args:
        label_ids: int [n], n > 0.
        label_names: label names, in the order of label ids.
        positive: the class that eval_f1 is of, None if it is the mean over classes.
    """
    classes = np.unique(label_ids)
    reasons = {}
    if len(classes) < 2:
        reason = f"all rows of the evaluated data have the label {label_names[classes[0]]}"
        reasons = {"eval_mcc": reason, "eval_roc_auc": reason}
    if positive is not None and positive not in classes:
        reasons["eval_f1"] = f"no row of the evaluated data has the label {label_names[positive]}"
    return reasons


def classification_metrics(
    label_ids: np.ndarray,
    losses: np.ndarray,
    probabilities: np.ndarray,
    label_names: Sequence[str],
    batch_size: int,
    positive: int | None = None,
) -> dict[str, np.float32 | int]:
    """Return the metrics of an evaluation: float32 scalars, and the number of examples.

    eval_accuracy     fraction of examples with their label as the most probable class (the first in a tie)
    eval_loss         mean over examples
    loss              mean over batches of the batch means; differs from eval_loss if the last batch is short
    eval_mcc          see matthews_correlation
    eval_f1           F1 of class `positive`, or else eval_macro_f1
    eval_examples     n
    eval_macro_f1     mean F1 over the classes that are an example's label or prediction
    eval_weighted_f1  the same, weighted by the examples with the label
    eval_roc_auc      see roc_auc

    The first three are the original's. Undefined metrics are left out, see undefined_scores.

    Args:
        label_ids: int [n], n > 0, in file order like the other arrays.
        losses: cross entropy of each example, float [n].
        probabilities: float [n, labels].
        label_names: label names, in the order of label ids.
        batch_size: the original's batch size in evaluation, which changes its `loss`.
        positive: the class that eval_f1 is of, None to average over classes.

    Raises:
        InputError: a probability is NaN.
    """
    from sklearn.metrics import f1_score

    check_numbers(probabilities)
    label_ids, probabilities = np.asarray(label_ids), np.asarray(probabilities)
    # Use argmax, which takes the first class in a tie.
    predicted = probabilities.argmax(axis=1)

    def f1(average: str, classes: list[int] | None = None) -> np.float32:
        return np.float32(f1_score(label_ids, predicted, labels=classes, average=average, zero_division=0))

    metrics = {
        "eval_accuracy": np.float32((predicted == label_ids).mean()),
        "eval_mcc": np.float32(matthews_correlation(label_ids, predicted)),
        # As in GLUE's MRPC and QQP, use the F1 of "is a paraphrase", not its mean with the other label.
        "eval_f1": f1("macro", None if positive is None else [positive]),
        **losses_metrics(losses, batch_size),
        "eval_macro_f1": f1("macro"),
        "eval_weighted_f1": f1("weighted"),
        "eval_roc_auc": np.float32(roc_auc(label_ids, probabilities, positive)),
    }
    undefined = undefined_scores(label_ids, label_names, positive)
    return {name: value for name, value in metrics.items() if name not in undefined}


def choice_metrics(
    label_ids: np.ndarray, losses: np.ndarray, probabilities: np.ndarray, batch_size: int
) -> dict[str, np.float32 | int]:
    """Return classification_metrics for multiple choice, without MCC and F1.

    A choice's index is not a class, so MCC and F1 have no meaning.

    Args:
        label_ids: int [n], n > 0.
        losses: float [n].
        probabilities: float [n, choices].
        batch_size: the original's batch size in evaluation.

    Raises:
        InputError: a probability is NaN.
    """
    check_numbers(probabilities)
    right = np.asarray(probabilities).argmax(axis=1) == np.asarray(label_ids)
    return {"eval_accuracy": np.float32(right.mean()), **losses_metrics(losses, batch_size)}


def classification_report(label_ids: np.ndarray, probabilities: np.ndarray, label_names: Sequence[str]) -> dict:
    """Return the scores of each class and the confusion matrix, ready for JSON.

    The dict is {"classes": {name: {"precision", "recall", "f1", "support"}}, "confusion_matrix":
    [[int]]}. Matrix rows are labels and columns are predictions, in the order of `label_names`. An
    undefined ratio (0 / 0) is 0.

    Args:
        label_ids: int [n].
        probabilities: float [n, labels].
        label_names: label names, in the order of label ids.
    """
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    # Include labels that no example has: the matrix has a row for each label.
    indices = list(range(len(label_names)))
    predicted = np.asarray(probabilities).argmax(axis=1)
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
    values: np.ndarray, losses: np.ndarray, predicted: np.ndarray, batch_size: int
) -> dict[str, np.float32 | int]:
    """Return the metrics of predicted numbers: float32 scalars, and the number of examples.

    eval_pearson, eval_spearman  correlation of values and of ranks, -1…1; equal values share a rank; left out
                                 if all predictions are equal, or without has_correlations
    eval_rmse                    root of the mean squared error, in the unit of the values
    eval_mae                     mean absolute error, in the unit of the values
    eval_loss, loss              mean squared error, see classification_metrics
    eval_examples                n

    Args:
        values: float [n], n > 0, in file order like the other arrays.
        losses: squared errors, float [n].
        predicted: float [n].
        batch_size: the original's batch size in evaluation.

    Raises:
        InputError: a prediction is NaN.
    """
    from scipy.stats import pearsonr, spearmanr
    from sklearn.metrics import mean_absolute_error, root_mean_squared_error

    check_numbers(predicted)
    values, predicted = np.asarray(values, np.float64), np.asarray(predicted, np.float64)
    correlations: dict[str, np.float32 | int] = {}
    # A correlation with a constant is undefined: SciPy would warn and give NaN. A value such as 0
    # would be better than a negative correlation, and could become the best evaluation.
    if has_correlations(values) and np.ptp(predicted) > 0:
        statistics = (np.float32(correlation(values, predicted).statistic) for correlation in (pearsonr, spearmanr))
        correlations = dict(zip(CORRELATIONS, statistics, strict=True))
    return {
        **correlations,
        "eval_rmse": np.float32(root_mean_squared_error(values, predicted)),
        "eval_mae": np.float32(mean_absolute_error(values, predicted)),
        **losses_metrics(losses, batch_size),
    }
