"""Metrics of the tasks with one label or a choice. scikit-learn and SciPy are imported
where they are used.

Metrics of multi-label classification are in metrics/multi_label.py, of numbers in metrics/regression.py.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.runtime.background_import import BACKGROUND_IMPORTS

# What a task is measured by, as its row names it -> the keys of eval_results.txt.
MAIN_METRICS = {
    "accuracy": ("eval_accuracy",),
    "accuracy_f1": ("eval_accuracy", "eval_f1"),
    "mcc": ("eval_mcc",),
    "pearson_spearman": ("eval_pearson", "eval_spearman"),
}
# What losses_metrics gives for every problem type.
LOSSES = ("eval_loss", "loss")


def known_metrics(known: tuple[str, ...], task_metric: str | None = None) -> tuple[str, ...]:
    """The metrics of a problem type, the main one of the task first; task_metric: a key of
    MAIN_METRICS.
    """
    first = MAIN_METRICS[task_metric][:1] if task_metric else known[:1]
    return tuple(dict.fromkeys([*first, *known]))


def main_metrics(name: str, results: Mapping[str, object]) -> dict[str, object]:
    """Return the results by which a task is measured, without undefined ones.

    Args:
        name: a key of MAIN_METRICS.
        results: all results of an evaluation.
    """
    return {key: results[key] for key in MAIN_METRICS[name] if key in results}


def check_numbers(predictions: np.ndarray) -> None:
    """InputError where one is not a number: metrics would be none either."""
    if not np.isfinite(predictions).all():
        raise InputError("the model gives NaN instead of predictions; its training diverged, use another checkpoint")


def losses_metrics(losses: np.ndarray, batch_size: int) -> dict[str, np.float32 | int]:
    """eval_loss, loss and eval_examples as classification_metrics describes them; losses float [n],
    n > 0.
    """
    return {
        "eval_loss": np.float32(np.mean(losses, dtype=np.float64)),
        "loss": np.float32(mean_of_batch_means(losses, batch_size)),
        "eval_examples": len(losses),
    }


def preload() -> None:
    """An evaluation will follow: see runtime.background_import."""
    linear = ("sklearn.feature_extraction.text", "sklearn.linear_model")  # of the baselines
    BACKGROUND_IMPORTS.need("sklearn.metrics", "scipy.stats", *linear)


def mean_of_batch_means(losses: np.ndarray, batch_size: int) -> float:
    """Mean over batches (of `batch_size` consecutive examples, the last may be short) of the mean
    loss in the batch.
    """
    # The original averages its batches, and so counts the rows of a short last batch more than
    # others.
    losses = np.asarray(losses, np.float64)
    return float(np.mean([losses[start : start + batch_size].mean() for start in range(0, len(losses), batch_size)]))


def matthews_correlation(label_ids: np.ndarray, predicted: np.ndarray) -> float:
    """Matthews' correlation coefficient, -1…1; 0 where all labels or all predictions are the same
    class.
    """
    from sklearn.metrics import matthews_corrcoef

    if len(np.unique(label_ids)) < 2 or len(np.unique(predicted)) < 2:
        return 0.0  # undefined; scikit-learn gives 0 too, but warns
    return float(matthews_corrcoef(label_ids, predicted))


def f1(label_ids: np.ndarray, predicted: np.ndarray, num_labels: int) -> float:
    """F1 of class 1 where there are two classes; of more, the mean over the classes that occur
    (macro F1).

    A class occurs when an example has it as label or as prediction; the F1 of any other is
    undefined and left out.
    """
    from sklearn.metrics import f1_score

    # As GLUE has it for MRPC and QQP: the F1 of "is a paraphrase", not a mean with the F1 of the
    # other label.
    classes = [1] if num_labels == 2 else None
    return float(f1_score(label_ids, predicted, labels=classes, average="macro", zero_division=0))


def classification_metrics(
    label_ids: np.ndarray,
    losses: np.ndarray,
    probabilities: np.ndarray,
    label_names: Sequence[str],
    batch_size: int,
) -> dict[str, np.float32 | int]:
    """The metrics of an evaluation: float32 scalars, and the number of examples.

    Args: label_ids int [n] (n > 0), losses float [n] (cross entropy of each example), probabilities
    float [n, labels], all in file order; `batch_size`: the original's batch size in evaluation,
    which its `loss` depends on.

    eval_accuracy  fraction of examples with the label as the most probable class (of equals the first)
    eval_loss      mean over examples
    loss           mean over batches of the batch means; differs from eval_loss where the last batch is short
    eval_mcc       see matthews_correlation
    eval_f1        see f1
    eval_examples  n

    The first three are the original's.
    """
    label_ids = np.asarray(label_ids)
    # Of equals the first one, whatever order a sort would leave them in.
    predicted = np.asarray(probabilities).argmax(axis=1)
    return {
        "eval_accuracy": np.float32((predicted == label_ids).mean()),
        "eval_mcc": np.float32(matthews_correlation(label_ids, predicted)),
        "eval_f1": np.float32(f1(label_ids, predicted, len(label_names))),
        **losses_metrics(losses, batch_size),
    }


def choice_metrics(
    label_ids: np.ndarray, losses: np.ndarray, probabilities: np.ndarray, batch_size: int
) -> dict[str, np.float32 | int]:
    """Of multiple choice, as classification_metrics without MCC and F1: an ending's place is no
    class.

    Args: label_ids int [n] (n > 0), losses float [n], probabilities float [n, endings]. InputError
    for NaN.
    """
    check_numbers(probabilities)
    right = np.asarray(probabilities).argmax(axis=1) == np.asarray(label_ids)
    return {"eval_accuracy": np.float32(right.mean()), **losses_metrics(losses, batch_size)}


def classification_report(label_ids: np.ndarray, probabilities: np.ndarray, label_names: Sequence[str]) -> dict:
    """Return the scores of each class and the confusion matrix, ready for JSON.

    {"classes": {name: {"precision", "recall", "f1", "support"}}, "confusion_matrix": [[int]]}: rows
    of the matrix are labels, columns are predictions, in the order of `label_names`. An undefined
    ratio (0 / 0) is 0.
    """
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    # All labels, also those that no example has: the matrix has a row for each.
    indices = list(range(len(label_names)))
    predicted = np.asarray(probabilities).argmax(axis=1)
    *ratios, _ = precision_recall_fscore_support(label_ids, predicted, labels=indices, zero_division=0)
    matrix = confusion_matrix(label_ids, predicted, labels=indices)
    # Not scikit-learn's support, which is a float if no prediction is right.
    columns = [*ratios, matrix.sum(axis=1)]
    rows = zip(*(column.tolist() for column in columns), strict=True)
    scores = [dict(zip(("precision", "recall", "f1", "support"), row, strict=True)) for row in rows]
    return {"classes": dict(zip(label_names, scores, strict=True)), "confusion_matrix": matrix.tolist()}


def format_report(report: dict) -> list[str]:
    """Return the result of classification_report as lines of a table for the log."""
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
