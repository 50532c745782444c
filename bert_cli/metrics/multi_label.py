"""Metrics, thresholds and reports for multi-label tasks; scikit-learn is imported lazily."""

import json
import math
from collections.abc import Sequence

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names
from bert_cli.base.json_files import read_json
from bert_cli.base.writing import write_json
from bert_cli.metrics.classification import check_finite, losses_metrics
from bert_cli.metrics.curves import area_under_roc, mean_precision

DEFAULT_THRESHOLD = 0.5


def over_thresholds(probabilities: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return which label probabilities [n, labels] reach their thresholds [labels], as bool."""
    # Compare in float64: float32 would move a threshold that is between two float32 neighbors.
    return np.asarray(probabilities, np.float64) >= np.asarray(thresholds, np.float64)


def tune_thresholds(label_ids: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return each label's threshold with the best F1 on these examples, float64 [labels].

    A threshold is in the middle between two adjacent probabilities, or between the lowest one and
    0. In a tie, the threshold nearest to 0.5 wins. A label that no example has keeps 0.5.

    Args:
        label_ids: 0 or 1, [n, labels].
        probabilities: [n, labels].

    Raises:
        InputError: a probability is NaN.
    """
    check_finite(probabilities)
    columns = zip(np.asarray(label_ids).T, np.asarray(probabilities, np.float64).T, strict=True)
    return np.array([_best_threshold(is_present > 0, probability) for is_present, probability in columns])


def _best_threshold(is_present: np.ndarray, probability: np.ndarray) -> float:
    if not is_present.any():
        return DEFAULT_THRESHOLD
    # Try all thresholds in one pass over the sorted probabilities; separate tries would be
    # quadratic.
    order = np.argsort(-probability, kind="stable")
    descending = probability[order]
    hits = np.cumsum(is_present[order])
    following = np.append(descending[1:], 0.0)
    is_cut = np.append(descending[1:] < descending[:-1], True)  # equal probabilities are on the same side
    f1 = 2 * hits[is_cut] / (np.flatnonzero(is_cut) + 1 + is_present.sum())
    # Cut between two probabilities, not at one, so that other rounding in a rerun changes no
    # decision.
    candidates = (descending[is_cut] + following[is_cut]) / 2
    best = candidates[f1 == f1.max()]
    return float(best[np.abs(best - DEFAULT_THRESHOLD).argmin()])


def write_thresholds(path: str, label_names: Sequence[str], thresholds: np.ndarray) -> None:
    """Write `thresholds` by label name to `path` (thresholds.json), whole or not at all.

    `label_names` and `thresholds` have the same order. A label with the threshold NaN is left out.
    """
    by_name = zip(label_names, np.asarray(thresholds, np.float64).tolist(), strict=True)
    write_json(path, {name: threshold for name, threshold in by_name if not math.isnan(threshold)})


def read_thresholds(path: str, label_names: Sequence[str], is_exclusive: bool = False) -> np.ndarray:
    """Read the file from write_thresholds as float64 [labels].

    Args:
        path: the file.
        is_exclusive: whether exactly one label has a threshold; the others get NaN.

    Raises:
        InputError: the file does not have exactly these labels, or a value is not in 0…1.
    """
    values = read_json(path)
    expected = [{name} for name in label_names] if is_exclusive else [set(label_names)]
    if not isinstance(values, dict) or values.keys() not in expected:
        needed = f"a threshold for {'one' if is_exclusive else 'each'} of {list_names(label_names)}"
        raise InputError(f"{path}: is not an object with {needed}; evaluate with --threshold=tuned")
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise InputError(f"{path}: the threshold of {name} is {json.dumps(value)}; give a number from 0 to 1")
    return np.array([values.get(name, math.nan) for name in label_names], np.float64)


def undefined_scores(label_ids: np.ndarray) -> dict[str, str]:
    """Return metrics that no predictions can define: name -> reason.

    Args:
        label_ids: 0 or 1, [n, labels], n > 0.
    """
    is_present = np.asarray(label_ids) > 0
    if not is_present.any():
        names = ("eval_micro_f1", "eval_macro_f1", "eval_roc_auc", "eval_roc_auc_micro", "eval_average_precision")
        return dict.fromkeys(names, "no row of the evaluated data has a label")
    reason = "each label is in all rows of the evaluated data or in none"
    is_constant = (is_present.all(axis=0) | ~is_present.any(axis=0)).all()
    undefined = {"eval_roc_auc": is_constant, "eval_roc_auc_micro": is_present.all()}
    return {name: reason for name, is_undefined in undefined.items() if is_undefined}


def multi_label_metrics(
    label_ids: np.ndarray,
    losses: np.ndarray,
    probabilities: np.ndarray,
    label_names: Sequence[str],
    thresholds: np.ndarray,
    batch_size: int,
) -> tuple[dict[str, np.float32 | int], dict]:
    """Return the metrics of an evaluation, and the scores of each label for JSON.

    The metrics are float32 scalars and the number of examples, without those in undefined_scores.

    eval_micro_f1           F1 of all decisions together
    eval_macro_f1           mean F1 over labels; a label that is absent and never predicted counts as 0
    eval_subset_accuracy    share of examples with exactly the correct labels
    eval_roc_auc            mean over labels that some examples have and some do not (as on Kaggle)
    eval_roc_auc_micro      all decisions together as one label
    eval_average_precision  mean over labels that at least one example has
    eval_loss, loss, eval_examples  as in single_label.classification_metrics

    The scores are {"labels": {name: {"threshold", "precision", "recall", "f1", "roc_auc",
    "average_precision", "support"}}, "without_roc_auc": [names], "without_average_precision":
    [names]}. None is used for an undefined value, but 0 for a precision or recall of 0 / 0.

    Args:
        label_ids: 0 or 1, [n, labels], n > 0, in file order like the other arrays.
        losses: float [n].
        probabilities: float [n, labels].
        label_names: label names, in column order.
        thresholds: float [labels].
        batch_size: batch size that the original uses in evaluation.

    Raises:
        InputError: a probability is NaN.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    check_finite(probabilities)
    is_present = np.asarray(label_ids) > 0
    probabilities = np.asarray(probabilities)
    columns = list(zip(is_present.T, probabilities.T, strict=True))
    predicted = over_thresholds(probabilities, thresholds)
    hits = (is_present & predicted).sum(axis=0)
    num_predicted = predicted.sum(axis=0)
    support = is_present.sum(axis=0)
    scores = {
        "threshold": [float(threshold) for threshold in thresholds],
        "precision": _ratio(hits, num_predicted).tolist(),
        "recall": _ratio(hits, support).tolist(),
        "f1": _ratio(2 * hits, num_predicted + support).tolist(),
        # ROC-AUC is undefined if all examples or no example have the label.
        "roc_auc": [float(roc_auc_score(*pair)) if pair[0].any() and not pair[0].all() else None for pair in columns],
        "average_precision": [float(average_precision_score(*pair)) if pair[0].any() else None for pair in columns],
        "support": support.tolist(),
    }
    metrics = {
        "eval_micro_f1": np.float32(_ratio(2 * hits.sum(), num_predicted.sum() + support.sum())),
        "eval_macro_f1": np.float32(np.mean(scores["f1"])),
        "eval_subset_accuracy": np.float32((is_present == predicted).all(axis=1).mean()),
        **losses_metrics(losses, batch_size),
    }
    rows = (dict(zip(scores, row, strict=True)) for row in zip(*scores.values(), strict=True))
    details: dict = {"labels": dict(zip(label_names, rows, strict=True))}
    if is_present.any() and not is_present.all():
        metrics["eval_roc_auc_micro"] = np.float32(roc_auc_score(is_present.reshape(-1), probabilities.reshape(-1)))
    for key in ("roc_auc", "average_precision"):
        defined = [value for value in scores[key] if value is not None]
        if defined:
            metrics[f"eval_{key}"] = np.float32(np.mean(defined))
        details[f"without_{key}"] = [name for name in label_names if details["labels"][name][key] is None]
    undefined = undefined_scores(label_ids)
    return {name: value for name, value in metrics.items() if name not in undefined}, details


def measure_labels(
    label_ids: np.ndarray,
    losses: np.ndarray,
    probabilities: np.ndarray,
    thresholds: np.ndarray,
    batch_size: int,
    weights: np.ndarray | None = None,
) -> dict[str, np.float32 | int]:
    """Return the metrics of multi_label_metrics alone, much faster, and also for weighted examples.

    Args:
        label_ids, losses, probabilities, thresholds, batch_size: see multi_label_metrics.
        weights: weight per example, float [n], above 0; None for equal weights.
    """
    is_present, probabilities = np.asarray(label_ids) > 0, np.asarray(probabilities)
    predicted = over_thresholds(probabilities, thresholds)
    row_weights = np.ones(len(is_present)) if weights is None else np.asarray(weights, np.float64)
    hits, num_predicted, support = (row_weights @ cells for cells in (is_present & predicted, predicted, is_present))
    columns = list(zip(probabilities.T, is_present.T, strict=True))
    curves = {
        "eval_roc_auc": [area_under_roc(*pair, row_weights) for pair in columns if pair[1].any() and not pair[1].all()],
        "eval_average_precision": [mean_precision(*pair, row_weights) for pair in columns if pair[1].any()],
    }
    if is_present.any() and not is_present.all():
        flat_weights = np.repeat(row_weights, is_present.shape[1])
        curves["eval_roc_auc_micro"] = [area_under_roc(probabilities.ravel(), is_present.ravel(), flat_weights)]
    metrics = {
        "eval_micro_f1": np.float32(_ratio(2 * hits.sum(), num_predicted.sum() + support.sum())),
        "eval_macro_f1": np.float32(np.mean(_ratio(2 * hits, num_predicted + support))),
        "eval_subset_accuracy": np.float32(np.average((is_present == predicted).all(axis=1), weights=weights)),
        **losses_metrics(losses, batch_size, weights),
        **{name: np.float32(np.mean(values)) for name, values in curves.items() if values},
    }
    undefined = undefined_scores(label_ids)
    return {name: value for name, value in metrics.items() if name not in undefined}


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return numerator / denominator, 0 for 0 / 0."""
    # If the denominator is 0, so is the numerator.
    return numerator / np.where(denominator > 0, denominator, 1)


def format_multi_label(details: dict) -> list[str]:
    """Return the label scores from multi_label_metrics as table lines for the log.

    More lines name the labels that are left out of a mean.
    """
    width = max(len(name) for name in [*details["labels"], "label"])
    lines = [f"{'label':<{width}}  threshold  precision  recall      f1  ROC-AUC  av. prec.  support"]
    for name, scores in details["labels"].items():
        auc, average = (
            "-" if scores[key] is None else f"{scores[key]:.4f}" for key in ("roc_auc", "average_precision")
        )
        lines.append(
            f"{name:<{width}}  {scores['threshold']:9.4f}  {scores['precision']:9.4f}  {scores['recall']:6.4f}"
            f"  {scores['f1']:6.4f}  {auc:>7}  {average:>9}  {scores['support']:7d}"
        )
    for key, metric_name, reason in (
        ("roc_auc", "eval_roc_auc", "all or no examples have them"),
        ("average_precision", "eval_average_precision", "no example has them"),
    ):
        if names := details[f"without_{key}"]:
            lines.append(f"left out of {metric_name}, as {reason}: {', '.join(names)}")
    return lines
