"""Metrics of a pre-training evaluation."""

import numpy as np

from bert_cli.metrics.selection import MetricsByName


def pretraining_metrics(sums: dict[str, np.ndarray], batch_size: int, next_sentence: bool) -> MetricsByName:
    """Return Google's metrics, masked_lm_perplexity, eval_examples and eval_predictions.

    As in the original, masked-LM metrics are means over masked tokens, and next-sentence metrics
    are means over sequences. `loss` is the mean over batches of the training loss. Values are
    float32; eval_examples (sequences) and eval_predictions (masked tokens) are int.

    Args:
        sums: float [n] each, one value per sequence: masked_lm_losses (Σ weight · nll, in nats),
            masked_lm_weights (Σ weight) and masked_lm_correct (Σ weight of correct predictions).
            With `next_sentence`, also next_sentence_losses and next_sentence_correct.
        batch_size: sequences per batch.
        next_sentence: whether the model predicts the next sentence.
    """
    sums = {name: values.astype(np.float64) for name, values in sums.items()}
    total = max(sums["masked_lm_weights"].sum(), 1e-12)
    loss = sums["masked_lm_losses"].sum() / total
    starts = np.arange(0, len(sums["masked_lm_losses"]), batch_size)
    masked, weights = (np.add.reduceat(sums[name], starts) for name in ("masked_lm_losses", "masked_lm_weights"))
    # Google adds 1e-5 to the number of masked tokens, which avoids 0 / 0 in an empty batch.
    batch_losses = masked / (weights + 1e-5)
    metrics: MetricsByName = {
        "masked_lm_accuracy": np.float32(sums["masked_lm_correct"].sum() / total),
        "masked_lm_loss": np.float32(loss),
        "masked_lm_perplexity": np.float32(np.exp(min(loss, 80.0))),  # float32 ends at e^88
    }
    if next_sentence:
        losses = sums["next_sentence_losses"]
        batch_losses = batch_losses + np.add.reduceat(losses, starts) / np.diff([*starts, len(losses)])
        metrics["next_sentence_accuracy"] = np.float32(sums["next_sentence_correct"].mean())
        metrics["next_sentence_loss"] = np.float32(losses.mean())
    return metrics | {
        "loss": np.float32(batch_losses.mean()),
        "eval_examples": len(sums["masked_lm_losses"]),
        "eval_predictions": round(float(sums["masked_lm_weights"].sum())),
    }
