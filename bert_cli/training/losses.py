"""Losses of the original's tasks; logits are float32."""

import tensorflow as tf


def cross_entropy(labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """−log softmax(logits)[label] in nats: labels int32 [...], logits [..., n] -> float32 [...]."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def masked_lm_loss(ids: tf.Tensor, weights: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Σ w·nll / (Σ w + 1e-5) over the batch: ids int32 [B, P], weights float32 [B, P] (0 for padding), logits [B, P, V]."""
    return tf.reduce_sum(weights * cross_entropy(ids, logits)) / (tf.reduce_sum(weights) + 1e-5)


def span_loss(starts: tf.Tensor, ends: tf.Tensor, start_logits: tf.Tensor, end_logits: tf.Tensor) -> tf.Tensor:
    """Mean of start and end cross entropy over all S positions, padding included: int32 [B], float32 [B, S] -> [B]."""
    return (cross_entropy(starts, start_logits) + cross_entropy(ends, end_logits)) / 2.0
