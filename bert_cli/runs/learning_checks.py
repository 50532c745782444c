"""Whether a training has learned something: its losses, and its evaluation compared with simple
baselines.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bert_cli.base.log import LOG, RESULT
from bert_cli.metrics.regression import CORRELATIONS
from bert_cli.metrics.selection import is_better
from bert_cli.report.baselines import BASELINE_NAMES
from bert_cli.report.main_metric import display_name, score
from bert_cli.runs.tasks.interface import Comparison

_LEAST_LINES = 12  # of the history after the warm-up; the noise of fewer hides whether the loss falls
_ABSURD = 3.0  # times the loss of guessing
_LEARNED = 0.8  # times the loss of guessing: a loss below it may stay where it is
_ADVICE = "try another --learning_rate, more --num_train_epochs, and look at the labels"


def log_comparison(command: str, metric: str, results: Mapping[str, Any], compared: Comparison) -> None:
    """Log the main metric of the model and of the baselines, and one line of warning where the
    model has not learned.
    """
    # Of two halves of a task the first one is compared, whose metrics have no suffix.
    values = {
        name: known[metric.removeprefix("eval_")]
        for name, known in compared.baselines.items()
        if metric.removeprefix("eval_") in known
    }
    shown = {name: f"{BASELINE_NAMES[name]} {score(command, metric, value)}" for name, value in values.items()}
    if shown:
        model = score(command, metric, float(results[metric]))
        LOG.log(RESULT, "%s: the model %s, %s", display_name(metric), model, ", ".join(shown.values()))
    doubts = [compared.collapse] if compared.collapse else []
    constant = next(iter(compared.baselines), "")
    # A constant has no correlation with the labels. Predictions that learned have a positive one.
    reference = 0.0 if constant and metric in CORRELATIONS else values.get(constant)
    if reference is not None and compared.is_varied and not is_better(metric, float(results[metric]), reference):
        doubts.append(f"the model is not better than {BASELINE_NAMES[constant]}")
    if doubts:
        LOG.warning("warning: %s; %s", "; ".join(doubts), compared.advice or _ADVICE)


def loss_doubt(
    entries: Sequence[Mapping[str, Any]],
    warmup_end: int,
    guess: float,
    advice: str = "",
) -> str:
    """Return a warning about the losses of a training, "" for usual ones.

    Args:
        entries: lines of history.jsonl.
        warmup_end: last step of the warm-up.
        guess: loss of guessing.
        advice: what to do, if the labels are the cause.
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
    if len(losses) >= _LEAST_LINES and last >= first and last > _LEARNED * guess:
        return f"the loss has not fallen after the warm-up: from {first:.4g} to {last:.4g}; {advice or _ADVICE}"
    return ""
