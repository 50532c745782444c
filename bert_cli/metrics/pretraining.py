"""Figures of a pre-training evaluation."""

import numpy as np


def pretraining_metrics(sums: dict[str, np.ndarray], batch_size: int, next_sentence: bool) -> dict[str, object]:
    """Google's keys, and masked_lm_perplexity, eval_examples (sequences), eval_predictions (masked
    tokens).

    sums: float [n] each, a row per sequence: masked_lm_losses (Σ weight · nll, nats),
    masked_lm_weights (Σ weight), masked_lm_correct (Σ weight where the most probable token is
    right), and with `next_sentence` next_sentence_losses and next_sentence_correct. Values are
    float32, counts int. As in the original, the masked-LM figures are means over all masked tokens,
    metrics of the next sentence over sequences, and `loss` is the mean over batches of `batch_size`
    sequences of the loss that training has.
    """
    sums = {name: values.astype(np.float64) for name, values in sums.items()}
    total = max(sums["masked_lm_weights"].sum(), 1e-12)
    loss = sums["masked_lm_losses"].sum() / total
    starts = np.arange(0, len(sums["masked_lm_losses"]), batch_size)
    masked, weights = (np.add.reduceat(sums[name], starts) for name in ("masked_lm_losses", "masked_lm_weights"))
    # Google adds 1e-5 to the number of masked tokens, so that an empty batch divides by something.
    batch_losses = masked / (weights + 1e-5)
    metrics = {
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
