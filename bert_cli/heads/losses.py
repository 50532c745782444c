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


def tied_cross_entropy(
    rows: tf.Tensor, words: tf.Tensor, bias: tf.Tensor, labels: tf.Tensor, weights: tf.Tensor
) -> tf.Tensor:
    """Σ w·nll over M predictions, whose logits are rows · wordsᵀ + bias; its gradient takes few passes over [M, V].

    rows: [M, H] in the compute dtype; words: float32 [V, H]; bias: float32 [V]; labels: int32 [M]; weights: float32 [M].
    Logits and softmax are float32. In the gradient softmax − onehot the label's part is taken apart: it needs rows of
    H numbers only.
    """

    @tf.custom_gradient
    def total(rows, words, bias):
        dtype = rows.dtype
        table = tf.cast(words, dtype)
        logits = tf.nn.bias_add(tf.cast(tf.matmul(rows, table, transpose_b=True), tf.float32), bias)  # [M, V]
        probabilities = tf.nn.softmax(logits)
        # The most probable token has exp(0) / Σ, so its probability gives the logarithm of the sum.
        log_sum = tf.reduce_max(logits, axis=-1) - tf.math.log(tf.reduce_max(probabilities, axis=-1))
        nll = log_sum - tf.gather(logits, labels, batch_dims=1)

        def gradient(dy):
            scales = dy * weights  # [M]
            scaled = tf.cast(rows, tf.float32) * scales[:, tf.newaxis]  # [M, H]
            products = tf.cast(probabilities, dtype)
            d_rows = tf.cast(tf.matmul(products, table), tf.float32) - tf.gather(words, labels)
            d_words = tf.cast(tf.matmul(products, tf.cast(scaled, dtype), transpose_a=True), tf.float32)
            d_words = tf.tensor_scatter_nd_sub(d_words, labels[:, tf.newaxis], scaled)
            d_bias = tf.linalg.matvec(probabilities, scales, transpose_a=True)
            d_bias = tf.tensor_scatter_nd_sub(d_bias, labels[:, tf.newaxis], scales)
            return tf.cast(d_rows * scales[:, tf.newaxis], dtype), d_words, d_bias

        return tf.reduce_sum(weights * nll), gradient

    return total(rows, words, bias)
