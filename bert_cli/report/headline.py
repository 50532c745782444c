"""The one number that a run is told by."""

from collections.abc import Mapping

from bert_cli.examples.glue import TASKS
from bert_cli.metrics.classification import MAIN_METRICS
from bert_cli.metrics.selection import select

# Where the task does not say, the first of these that the evaluation has.
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
    "eval_micro_f1": "micro F1",
    "eval_macro_f1": "macro F1",
    "eval_loss": "loss",
    "eval_roc_auc": "area under ROC",
    "masked_lm_accuracy": "masked words right",
    "masked_lm_perplexity": "perplexity",
    "next_sentence_accuracy": "next sentences right",
}


def main_metric(names: Mapping[str, object], manifest: Mapping[str, object]) -> str:
    """The name of the number by which an evaluation of a run is told; "" where it has none."""
    chosen = str(manifest.get("metric_for_best") or "")
    task = TASKS.get(str(manifest.get("task_name", "")))
    own = MAIN_METRICS[task.metric] if task else ()
    if manifest.get("command") == "bert-tag":
        own = ("eval_f1",)
    if manifest.get("command") == "bert-squad":
        own = ("f1",)
    return next((name for name in (chosen, *own, *_ORDER) if name in names), "")


def spoken(metric: str) -> str:
    """The name of a metric for people."""
    return _NAMES.get(metric, metric.removeprefix("eval_").replace("_", " "))


def best_step(evaluations: list[tuple[int, dict[str, float]]], metric: str) -> tuple[int, float] | None:
    """(step, value) of the best evaluation, of equals the first; None where no evaluation has the metric."""
    found = [(step, values[metric]) for step, values in evaluations if isinstance(values.get(metric), int | float)]
    # The rule that --metric_for_best uses, so that the page names the step that the run kept.
    best = select(metric, found)
    return (best.step, best.value) if best else None
