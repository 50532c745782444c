"""Metrics, thresholds and reports where a text has any of several labels. scikit-learn is imported
where it is used.
"""

import json
from collections.abc import Sequence

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import read_json
from bert_cli.base.messages import listed
from bert_cli.base.writing import write_json
from bert_cli.metrics.classification import check_numbers, losses_metrics

DEFAULT_THRESHOLD = 0.5


def over_thresholds(probabilities: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Which labels are predicted: bool [n, labels], where a probability [n, labels] is at or above
    its threshold [labels].
    """
    # In float64: a threshold between two neighbours of float32 would else become one of them.
    return np.asarray(probabilities, np.float64) >= np.asarray(thresholds, np.float64)


def tune_thresholds(label_ids: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """The threshold of each label that gives it the best F1 on these examples: float64 [labels].

    label_ids: 0 or 1, [n, labels]; probabilities [n, labels]. A threshold is in the middle between
    two probabilities that follow one another, or between the lowest and 0; of those with equal F1
    the one nearest to 0.5 is taken. A label that no example has keeps 0.5. InputError for NaN.
    """
    check_numbers(probabilities)
    columns = zip(np.asarray(label_ids).T, np.asarray(probabilities, np.float64).T, strict=True)
    return np.array([_best_threshold(has > 0, probability) for has, probability in columns])


def _best_threshold(has: np.ndarray, probability: np.ndarray) -> float:
    if not has.any():
        return DEFAULT_THRESHOLD
    # One pass over the sorted probabilities tries all thresholds; trying each by itself is
    # quadratic.
    order = np.argsort(-probability, kind="stable")
    descending = probability[order]
    hits = np.cumsum(has[order])
    following = np.append(descending[1:], 0.0)
    is_cut = np.append(descending[1:] < descending[:-1], True)  # equal probabilities are on one side
    f1 = 2 * hits[is_cut] / (np.flatnonzero(is_cut) + 1 + has.sum())
    # Between two probabilities, not on one: a rerun with other rounding decides the same.
    candidates = (descending[is_cut] + following[is_cut]) / 2
    best = candidates[f1 == f1.max()]
    return float(best[np.abs(best - DEFAULT_THRESHOLD).argmin()])


def write_thresholds(path: str, label_names: Sequence[str], thresholds: np.ndarray) -> None:
    """Write thresholds.json, {label: threshold}, whole or not at all."""
    write_json(path, dict(zip(label_names, np.asarray(thresholds, np.float64).tolist(), strict=True)))


def read_thresholds(path: str, label_names: Sequence[str]) -> np.ndarray:
    """What write_thresholds wrote: float64 [labels]. InputError unless it has a number of 0…1 for
    each of these labels.
    """
    values = read_json(path)
    if not isinstance(values, dict) or values.keys() != set(label_names):
        needed = f"a threshold for each of {listed(label_names)}"
        raise InputError(f"{path}: is not an object with {needed}; evaluate with --threshold=tuned")
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise InputError(f"{path}: the threshold of {name} is {json.dumps(value)}; give a number from 0 to 1")
    return np.array([values[name] for name in label_names], np.float64)


def multi_label_metrics(
    label_ids: np.ndarray,
    losses: np.ndarray,
    probabilities: np.ndarray,
    label_names: Sequence[str],
    thresholds: np.ndarray,
    batch_size: int,
) -> tuple[dict[str, np.float32 | int], dict]:
    """The metrics of an evaluation (float32 scalars, and the number of examples), and the scores of
    each label, for JSON.

    Args: label_ids 0 or 1, [n, labels] (n > 0), losses float [n], probabilities float [n, labels],
    thresholds float [labels]; all in file order. InputError for NaN.

    eval_micro_f1           F1 of all decisions together, 0 where nothing is a label and nothing predicted
    eval_macro_f1           mean over the labels of their F1, which is 0 where nothing is a label and nothing predicted
    eval_subset_accuracy    share of examples with exactly the right labels
    eval_roc_auc            mean over the labels that some examples have and some not (as Kaggle takes it)
    eval_roc_auc_micro      of all decisions together, as of one label; not there where all of them are the same
    eval_average_precision  mean over the labels that some example has
    eval_loss, loss, eval_examples  as in metrics.classification.classification_metrics

    A mean over no label at all is not there. The second: {"labels": {name: {"threshold",
    "precision", "recall", "f1", "roc_auc", "average_precision", "support"}}, "without_roc_auc":
    [names], "without_average_precision": [names]}; what is undefined is None, a precision or recall
    of 0 / 0 is 0.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    check_numbers(probabilities)
    has = np.asarray(label_ids) > 0
    probabilities = np.asarray(probabilities)
    columns = list(zip(has.T, probabilities.T, strict=True))
    predicted = over_thresholds(probabilities, thresholds)
    hits = (has & predicted).sum(axis=0)
    found = predicted.sum(axis=0)
    support = has.sum(axis=0)
    scores = {
        "threshold": [float(threshold) for threshold in thresholds],
        "precision": _ratio(hits, found).tolist(),
        "recall": _ratio(hits, support).tolist(),
        "f1": _ratio(2 * hits, found + support).tolist(),
        # Undefined where all or no examples have the label.
        "roc_auc": [float(roc_auc_score(*pair)) if pair[0].any() and not pair[0].all() else None for pair in columns],
        "average_precision": [float(average_precision_score(*pair)) if pair[0].any() else None for pair in columns],
        "support": support.tolist(),
    }
    metrics = {
        "eval_micro_f1": np.float32(_ratio(2 * hits.sum(), found.sum() + support.sum())),
        "eval_macro_f1": np.float32(np.mean(scores["f1"])),
        "eval_subset_accuracy": np.float32((has == predicted).all(axis=1).mean()),
        **losses_metrics(losses, batch_size),
    }
    rows = (dict(zip(scores, row, strict=True)) for row in zip(*scores.values(), strict=True))
    details: dict = {"labels": dict(zip(label_names, rows, strict=True))}
    if has.any() and not has.all():
        metrics["eval_roc_auc_micro"] = np.float32(roc_auc_score(has.reshape(-1), probabilities.reshape(-1)))
    for key in ("roc_auc", "average_precision"):
        defined = [value for value in scores[key] if value is not None]
        if defined:
            metrics[f"eval_{key}"] = np.float32(np.mean(defined))
        details[f"without_{key}"] = [name for name in label_names if details["labels"][name][key] is None]
    return metrics, details


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Their quotient, 0 for 0 / 0."""
    # Both are counts, and where the denominator is 0 so is the numerator.
    return numerator / np.maximum(denominator, 1)


def format_multi_label(details: dict) -> list[str]:
    """The second result of multi_label_metrics as lines of a table for the log, and what was left
    out of its means.
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
    for key, called, reason in (
        ("roc_auc", "eval_roc_auc", "all or no examples have them"),
        ("average_precision", "eval_average_precision", "no example has them"),
    ):
        if names := details[f"without_{key}"]:
            lines.append(f"left out of {called}, as {reason}: {', '.join(names)}")
    return lines
