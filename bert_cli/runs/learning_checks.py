"""Warnings for a model that has not learned: its losses, and its metrics against baselines."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bert_cli.base.log import LOG, RESULT
from bert_cli.metrics.classification import CORRELATIONS
from bert_cli.metrics.selection import is_better
from bert_cli.report.main_metric import BASELINE_NAMES, display_name, format_metric
from bert_cli.runs.tasks.interface import BaselineComparison

# History lines after the warm-up: with fewer, noise hides whether the loss falls.
_MIN_LINES = 12
# Shares of the guessing loss: above _ABSURD, training has failed. Below _LEARNED, the model has
# learned, even if the loss no longer falls.
_ABSURD = 3.0
_LEARNED = 0.8
_ADVICE = "try another --learning_rate, more --num_train_epochs, and look at the labels"


def log_comparison(
    command: str, metric: str, results: Mapping[str, Any], comparison: BaselineComparison, positive_label: str = ""
) -> None:
    """Log the main metric for the model and the baselines, and warn if the model has not learned.

    A line that is no warning names baselines that are better, because a simpler model may be enough.

    Args:
        command: command name.
        metric: name of the main metric.
        results: the model's metrics.
        comparison: the baselines' metrics, and the task's own findings.
        positive_label: see display_name.
    """
    value, name = float(results[metric]), display_name(metric, positive_label)
    values = _baseline_values(comparison, metric)
    constant = next(iter(comparison.baselines), "")
    if values:
        shown = (f"{BASELINE_NAMES[key]} {format_metric(command, metric, number)}" for key, number in values.items())
        LOG.log(RESULT, "%s: the model %s, %s", name, format_metric(command, metric, value), ", ".join(shown))
    for key, number in values.items():
        if key != constant and is_better(metric, number, value):
            LOG.log(RESULT, "%s is better than the model", BASELINE_NAMES[key])
    warnings = [comparison.collapse] if comparison.collapse else []
    if comparison.is_varied and (reason := _baseline_warning(metric, results, comparison)):
        warnings.append(reason)
    if warnings:
        LOG.warning("warning: %s; %s", "; ".join(warnings), comparison.advice or _ADVICE)


def _baseline_warning(metric: str, results: Mapping[str, Any], comparison: BaselineComparison) -> str:
    """Return a warning if the model is not better than the constant predictor, "" otherwise."""
    constant, error = next(iter(comparison.baselines), ""), comparison.error
    warning = f"the model is not better than {BASELINE_NAMES.get(constant)}"
    # A constant has no correlation with the labels. Predictions that learned have a positive one.
    is_correlation = bool(constant) and metric in CORRELATIONS
    reference = 0.0 if is_correlation else _baseline_values(comparison, metric).get(constant)
    if reference is not None and not is_better(metric, float(results[metric]), reference):
        return warning
    # Noise has a positive correlation half of the time, so compare the errors, too.
    reference = _baseline_values(comparison, error).get(constant)
    if reference is not None and not is_better(error, float(results[error]), reference):
        return f"{warning} ({display_name(error)} {float(results[error]):.4g} against {reference:.4g})"
    return ""


def _baseline_values(comparison: BaselineComparison, metric: str) -> dict[str, float]:
    """Return the metric of each baseline that has it.

    MNLI has two dev sets. The first one is compared; its metrics have no suffix.
    """
    key = metric.removeprefix("eval_")
    return {name: metrics[key] for name, metrics in comparison.baselines.items() if key in metrics}


def loss_warning(
    entries: Sequence[Mapping[str, Any]],
    warmup_end: int,
    guess: float,
    advice: str = "",
) -> str:
    """Return a warning about the training losses, or "" if they are usual.

    Args:
        entries: lines from history.jsonl.
        warmup_end: last step of the warm-up.
        guess: loss of guessing.
        advice: advice to add if the labels are the cause, or "".
    """
    losses = [entry["loss"] for entry in entries if "loss" in entry and entry["step"] > warmup_end]
    if not losses:
        return ""
    count = max(1, len(losses) // 4)
    first, last = math.fsum(losses[:count]) / count, math.fsum(losses[-count:]) / count
    if last > _ABSURD * guess:
        return (
            f"the loss ends at {last:.4g}, far above the {guess:.4g} of guessing; "
            f"{advice or 'try a lower --learning_rate'}"
        )
    if len(losses) >= _MIN_LINES and last >= first and last > _LEARNED * guess:
        return f"the loss has not fallen after the warm-up: from {first:.4g} to {last:.4g}; {advice or _ADVICE}"
    return ""
