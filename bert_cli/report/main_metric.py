"""The main metric for a run, with its name and value for people, and baselines in run_report.json."""

import math
import statistics
from collections.abc import Mapping, Sequence

from bert_cli.examples.glue import TASKS
from bert_cli.metrics.classification import BINARY_F1, MAIN_METRICS
from bert_cli.metrics.selection import Selection, lower_is_better, match_metric, select
from bert_cli.metrics.squad import NO_ANSWER
from bert_cli.problem_types.kinds import KINDS
from bert_cli.report.components import Tile, number
from bert_cli.report.run_files import Run

# If the task does not decide, use the first of these that the evaluation has.
_ORDER = (
    "best_f1", "f1", "eval_micro_f1", "eval_pearson", "eval_accuracy", "eval_mcc", "masked_lm_accuracy",
    "eval_f1", "exact_match", "exact", "eval_loss", "loss",
)  # fmt: skip
_NAMES = {
    "eval_accuracy": "accuracy",
    "eval_f1": "F1",
    "f1": "F1",
    "best_f1": "F1 (best threshold)",
    "exact_match": "exact match",
    "exact": "exact match",
    "eval_mcc": "Matthews' correlation",
    "eval_pearson": "Pearson's correlation",
    "eval_spearman": "Spearman's correlation",
    "eval_rmse": "RMSE",
    "eval_mae": "MAE",
    "eval_micro_f1": "micro F1",
    "eval_macro_f1": "macro F1",
    "eval_weighted_f1": "weighted F1",
    "eval_loss": "loss",
    "eval_roc_auc": "area under ROC",
    "eval_average_precision": "average precision",
    "eval_balanced_accuracy": "balanced accuracy",
    "eval_kappa": "Cohen's kappa",
    "eval_quadratic_kappa": "quadratic kappa",
    "eval_brier": "Brier score",
    "eval_roc_auc_micro": "area under ROC, micro-averaged",
    "masked_lm_accuracy": "masked words right",
    "masked_lm_perplexity": "perplexity",
    "next_sentence_accuracy": "next sentences right",
    "eval_mrr": "mean reciprocal rank",
    "eval_recall_at_1": "recall@1",
    "eval_recall_at_5": "recall@5",
    "eval_recall_at_10": "recall@10",
}
# Keys are names in run_report.json: {name: {metric: value}}.
BASELINE_NAMES = {
    "majority": "the majority class",
    "tfidf": "TF-IDF with logistic regression",
    "mean": "the mean",
    "ridge": "TF-IDF with ridge regression",
    NO_ANSWER: "no answer to any question",
}


def main_metric(names: Mapping[str, object], manifest: Mapping[str, object]) -> str:
    """Return the name of a metric that summarizes an evaluation, "" if it has no such metric."""
    chosen = match_metric(str(manifest.get("metric_for_best") or ""), names)
    task = TASKS.get(str(manifest.get("task_name", "")))
    kind = KINDS.get(str(manifest.get("command")))
    preferred = MAIN_METRICS[task.metric] if task else kind.main_metrics if kind else ()
    return next((name for name in (chosen, *preferred, *_ORDER) if name in names), "")


def display_name(metric: str, positive_label: str = "") -> str:
    """Return a metric's name for people, such as F1 of spam.

    Args:
        metric: metric name.
        positive_label: label that BINARY_F1 is of, "" if it is of no single label.
    """
    name = _NAMES.get(metric, metric.removeprefix("eval_").replace("_", " "))
    return f"{name} of {positive_label}" if positive_label and metric == BINARY_F1 else name


def best_step(evaluations: list[tuple[int, dict[str, float]]], metric: str) -> Selection | None:
    """Return the best evaluation (the first in a tie), None if no evaluation has the metric."""
    pairs = [(step, values[metric]) for step, values in evaluations if isinstance(values.get(metric), int | float)]
    # Use the same rule as --metric_for_best, so that the page names the step that the run kept.
    return select(metric, pairs)


def is_per_cent(command: str, metric: str) -> bool:
    """Return whether a metric goes from 0 to 100 instead of 1."""
    return command in KINDS and KINDS[command].is_per_cent and not lower_is_better(metric)


def format_metric(command: str, metric: str, value: float) -> str:
    """Return a metric's `value` as text for a tile.

    `command` and `metric` decide whether it is a percentage.
    """
    return f"{value:.2f} %" if is_per_cent(command, metric) else number(value)


def score_with_deviation(command: str, metric: str, mean: float, deviation: float) -> str:
    """Return mean ± standard deviation, both with the same number of decimals.

    Args:
        metric: metric name.
        mean: the metric's mean.
        deviation: its standard deviation.
    """
    if is_per_cent(command, metric):
        return f"{mean:.2f} ± {deviation:.2f} %"
    return f"{mean:.4f} ± {deviation:.4f}" if abs(mean) < 100 else f"{number(mean)} ± {number(deviation)}"


def baseline_tiles(runs: Sequence[Run], metric: str) -> list[Tile]:
    """Return each baseline's metric, as the mean over the runs that have it.

    Args:
        metric: metric name, as in eval_results.txt.
    """
    tiles = []
    for name, title in BASELINE_NAMES.items():
        results = [(run.report.get("baselines") or {}).get(name, {}).get(metric.removeprefix("eval_")) for run in runs]
        # A constant prediction has no correlation: it is NaN or null.
        values = [value for value in results if isinstance(value, int | float) and math.isfinite(value)]
        if values:
            tiles.append(Tile(format_metric(runs[0].command, metric, statistics.fmean(values)), title, "baseline"))
    return tiles
