"""Pre-training metrics, computed by hand."""

import math

import numpy as np
import pytest

from bert_cli.metrics.pretraining import pretraining_metrics

SUMS = {
    "masked_lm_losses": np.array([2.0, 4.0, 3.0], np.float32),
    "masked_lm_weights": np.array([1.0, 3.0, 2.0], np.float32),
    "masked_lm_correct": np.array([1.0, 0.0, 2.0], np.float32),
    "next_sentence_losses": np.array([0.5, 1.5, 1.0], np.float32),
    "next_sentence_correct": np.array([1.0, 0.0, 1.0], np.float32),
}


def test_metrics_are_means_over_tokens_sequences_or_batches():
    metrics = pretraining_metrics(SUMS, 2, next_sentence=True)
    assert metrics["masked_lm_accuracy"] == pytest.approx(0.5)
    assert metrics["masked_lm_loss"] == pytest.approx(1.5)
    assert metrics["masked_lm_perplexity"] == pytest.approx(math.exp(1.5))
    assert metrics["next_sentence_accuracy"] == pytest.approx(2 / 3)
    assert metrics["next_sentence_loss"] == pytest.approx(1.0)
    # Batches of two have the losses 6 / 4 + 1 and 3 / 2 + 1.
    assert metrics["loss"] == pytest.approx(2.5, rel=1e-4)
    assert (metrics["eval_examples"], metrics["eval_predictions"]) == (3, 6)


def test_metrics_without_next_sentences():
    metrics = pretraining_metrics({name: SUMS[name] for name in list(SUMS)[:3]}, 3, next_sentence=False)
    assert not [name for name in metrics if name.startswith("next_sentence")]
    assert metrics["loss"] == pytest.approx(1.5, rel=1e-4)


def test_no_masked_token_and_overflowing_perplexity():
    zeros = {name: np.zeros(2) for name in list(SUMS)[:3]}
    assert pretraining_metrics(zeros, 2, next_sentence=False)["masked_lm_loss"] == 0
    large_losses = zeros | {"masked_lm_losses": np.array([500.0, 500.0]), "masked_lm_weights": np.ones(2)}
    assert np.isfinite(pretraining_metrics(large_losses, 2, next_sentence=False)["masked_lm_perplexity"])
