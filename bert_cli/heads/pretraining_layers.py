"""Head layers for pre-training: masked words, next sentences and replaced tokens."""

from collections.abc import Callable

import tensorflow as tf

from bert_cli.heads.model import OutputLayer
from bert_cli.model import ops
from bert_cli.model.config import BertConfig
from bert_cli.model.layers import Dense, LayerNorm, Scoped


class MaskedLmHead(Scoped):
    """The masked-LM head: dense layer, activation, normalization, then the tied word embeddings.

    Its variables are cls/predictions/transform/{dense,LayerNorm}/… and
    cls/predictions/output_bias [V].
    """

    def __init__(self, config: BertConfig, seed: int):
        super().__init__("cls/predictions")
        hidden, width = config.hidden_size, config.embedding_width
        self.activation = config.masked_lm_activation
        self.transform = Dense("cls/predictions/transform/dense", hidden, width, config.initializer_range, seed)
        self.norm = LayerNorm("cls/predictions/transform/LayerNorm", width, config.layer_norm_eps)
        self.output_bias = self.add_scoped("output_bias", (config.vocab_size,), "zeros")

    def project(self, rows: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Return rows [M, H] in the space of word embeddings, [M, E], in the compute dtype."""
        return self.norm(ops.activate(self.transform(rows), self.activation, training))

    def call(self, rows: tf.Tensor, word_embeddings: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Return logits over the vocabulary, float32 [M, V].

        Args:
            rows: [M, H] in the compute dtype.
            word_embeddings: float32 [V, E].
            training: whether a gradient follows.
        """
        x = self.project(rows, training)
        logits = tf.matmul(x, tf.cast(word_embeddings, x.dtype), transpose_b=True)
        return tf.nn.bias_add(tf.cast(logits, tf.float32), self.output_bias.value)


class ReplacedTokensHead(Scoped):
    """The head for ELECTRA's discriminator: dense layer, activation, dense layer.

    It returns a logit per token, which is high if the token was replaced. Its variables are
    discriminator_predictions/dense/… and discriminator_predictions/dense_1/….
    """

    def __init__(self, config: BertConfig, seed: int):
        super().__init__("discriminator_predictions")
        hidden, stddev = config.hidden_size, config.initializer_range
        self.activation = config.activation
        self.dense = Dense(f"{self.scope}/dense", hidden, hidden, stddev, seed)
        self.output_layer = Dense(f"{self.scope}/dense_1", hidden, 1, stddev, seed)

    def call(self, rows: tf.Tensor) -> tf.Tensor:
        """Return logits, float32 [M], for rows, float32 [M, H]."""
        return self.output_layer(ops.activate(self.dense(rows), self.activation, training=False))[:, 0]


class NextSentenceHead(OutputLayer):
    """The logits [B, 2] for the pooled output: index 0 is "B follows A", 1 is "B is random"."""

    # A separate class is needed, because Keras names groups in a .weights.h5 by class.
    def __init__(self, config: BertConfig, seed: int):
        super().__init__("cls/seq_relationship", config.hidden_size, 2, config.initializer_range, seed)


def tied_cross_entropy(rows: tf.Tensor, words: tf.Tensor, bias: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Return the cross-entropy for logits rows · wordsᵀ + bias, float32 [M].

    Logits and softmax are float32. The manual gradient needs few passes over [M, V]: in
    softmax − onehot, it computes the second term separately with rows of only H numbers.

    Args:
        rows: [M, H] in the compute dtype.
        words: float32 [V, H].
        bias: float32 [V].
        labels: int32 [M].
    """

    @tf.custom_gradient
    def losses(rows: tf.Tensor, words: tf.Tensor, bias: tf.Tensor) -> tuple[tf.Tensor, Callable]:
        dtype = rows.dtype
        table = tf.cast(words, dtype)
        logits = tf.nn.bias_add(tf.cast(tf.matmul(rows, table, transpose_b=True), tf.float32), bias)  # [M, V]
        probabilities = tf.nn.softmax(logits)
        # The most probable token's probability is exp(0) / Σ, so it determines log Σ.
        log_sum = tf.reduce_max(logits, axis=-1) - tf.math.log(tf.reduce_max(probabilities, axis=-1))
        nll = log_sum - tf.gather(logits, labels, batch_dims=1)

        def gradient(scales: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:  # scales: [M]
            scaled = tf.cast(rows, tf.float32) * scales[:, tf.newaxis]  # [M, H]
            products = tf.cast(probabilities, dtype)
            d_rows = tf.cast(tf.matmul(products, table), tf.float32) - tf.gather(words, labels)
            d_words = tf.cast(tf.matmul(products, tf.cast(scaled, dtype), transpose_a=True), tf.float32)
            d_words = tf.tensor_scatter_nd_sub(d_words, labels[:, tf.newaxis], scaled)
            d_bias = tf.linalg.matvec(probabilities, scales, transpose_a=True)
            d_bias = tf.tensor_scatter_nd_sub(d_bias, labels[:, tf.newaxis], scales)
            return tf.cast(d_rows * scales[:, tf.newaxis], dtype), d_words, d_bias

        return nll, gradient

    return losses(rows, words, bias)
