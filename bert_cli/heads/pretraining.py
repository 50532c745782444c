"""The pre-training model, and heads for masked words, next sentences and replaced tokens."""

from collections.abc import Callable
from typing import Unpack

import tensorflow as tf

from bert_cli.base import spec
from bert_cli.heads.losses import cross_entropy, softmax_losses
from bert_cli.heads.model import NetworkOptions, OutputLayer, TaskModel, mean_weights
from bert_cli.model import ops
from bert_cli.model.config import BertConfig
from bert_cli.model.layers import DenseLayer, LayerNormalization, Scoped


class BertPretrainer(TaskModel):
    """The encoder with masked-LM and next-sentence heads for run_pretraining.py.

    The input is a dict of int32 [B, S] with `masked_lm_positions`, int32 [B, P]. The output is a dict
    of float32 `masked_lm_logits` [B, P, V] and `next_sentence_logits` [B, 2]. The head computes only
    masked positions.

    Args:
        config: config of the encoder.
        use_next_sentence: False removes the next sentence from the loss.
        options: see NetworkOptions.
    """

    columns = spec.PRETRAINING

    def __init__(self, config: BertConfig, use_next_sentence: bool = True, **options: Unpack[NetworkOptions]):
        super().__init__("pretraining_model", config, **options)
        self.masked_lm = MaskedLmHead(config, self.seed)
        self.next_sentence = NextSentenceHead(config, self.seed)
        self.use_next_sentence = use_next_sentence

    def without_gradient(self, frozen: bool = False) -> set[str]:
        if self.use_next_sentence:
            return set()
        return {name for layer in (self.encoder.pooler, self.next_sentence) for name in layer.named_variables()}

    def call(
        self, inputs: dict[str, tf.Tensor], training: bool = False, seed: tf.Tensor | None = None, packed: bool = False
    ) -> dict[str, tf.Tensor]:
        positions = tf.cast(inputs["masked_lm_positions"], tf.int32)
        shape = tf.shape(positions)
        # Convert positions within a sequence to slots in the concatenated sequences.
        starts = tf.range(shape[0])[:, tf.newaxis] * tf.shape(inputs["input_word_ids"])[1]
        slots = tf.reshape(starts + positions, [-1])
        rows, next_sentence = self.rows_at(inputs, slots, training, seed, packed)
        masked_lm = self.masked_logits(rows, training)
        return {
            "masked_lm_logits": tf.reshape(masked_lm, tf.concat([shape, tf.shape(masked_lm)[1:]], axis=0)),
            "next_sentence_logits": next_sentence,
        }

    def masked_logits(self, rows: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Return masked-LM logits, float32 [M, V], for rows [M, H] in the compute dtype."""
        words = tf.convert_to_tensor(self.encoder.embeddings.words.value)
        return self.masked_lm(rows, word_embeddings=words, training=training)

    def rows_at(
        self,
        inputs: dict[str, tf.Tensor],
        slots: tf.Tensor,
        training: bool = False,
        seed: tf.Tensor | None = None,
        packed: bool = False,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the encoder's rows at `slots` and the next-sentence logits.

        Args:
            inputs: dict of int32 [B, S].
            slots: b·S+s per row, int32 [M].
            training: apply dropout.
            seed: seed of dropout.
            packed: skip padding.

        Returns:
            Rows [M, H] in the compute dtype, and logits, float32 [B, 2].
        """
        outputs = self.encoder(inputs, training=training, seed=seed, packed=packed)
        sequence = outputs["sequence_output"]  # [B, S, H]
        # Gather before the head: its products with the vocabulary are the network's largest, and
        # 85 % of tokens are not masked.
        rows = tf.gather(tf.reshape(sequence, [-1, sequence.shape[-1]]), slots)
        return tf.cast(rows, self.encoder.product_dtype), self.next_sentence(outputs["pooled_output"])

    @staticmethod
    def _masked_slots(batch: dict, packed: bool) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the masked words' indices in [B, P], int64 [M, 2], and slots b·S+s, int32 [M]."""
        positions, weights = batch["masked_lm_positions"], batch["masked_lm_weights"]
        # Without packing, for static shapes on a TPU, also compute empty positions. These have a
        # weight of 0.
        indices = tf.where(weights > 0 if packed else tf.ones_like(weights, tf.bool))
        length = tf.shape(batch["input_word_ids"])[1]
        return indices, tf.cast(indices[:, 0], tf.int32) * length + tf.gather_nd(positions, indices)

    def loss_terms(
        self, batch: dict, seed: tf.Tensor | None, packed: bool, batch_size: int, frozen: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return terms for M masked words, then for B next sentences, see TaskModel.

        The masked_lm_weights in the batch are already w / (Σ w + 1e-5) over the global batch, see
        features.pretraining_batch. The next-sentence loss is a mean over sequences. Both losses use
        `loss_rule`.
        """
        indices, slots = self._masked_slots(batch, packed)
        ids, weights = (tf.gather_nd(batch[name], indices) for name in ("masked_lm_ids", "masked_lm_weights"))
        rows, next_sentence = self.rows_at(spec.encoder_inputs(batch), slots, not frozen, seed, packed)
        # The manual gradient is only for plain cross-entropy.
        if self.loss_rule.is_plain:
            words = tf.convert_to_tensor(self.encoder.embeddings.words.value)
            bias = tf.convert_to_tensor(self.masked_lm.output_bias.value)
            losses = tied_cross_entropy(self.masked_lm.project(rows, training=True), words, bias, ids)
        else:
            losses = softmax_losses(ids, self.masked_logits(rows, training=True), self.loss_rule)
        if not self.use_next_sentence:
            return losses, weights
        sentence_losses = softmax_losses(batch["next_sentence_labels"], next_sentence, self.loss_rule)
        return (
            tf.concat([losses, sentence_losses], 0),
            tf.concat([weights, mean_weights(sentence_losses, batch_size)], 0),
        )

    def evaluation_sums(self, batch: dict, packed: bool) -> dict[str, tf.Tensor]:
        """Return sums over each sequence's masked words, float32 [B], see metrics.pretraining.

        They are computed on the device: a batch's logits over the vocabulary take 100 MB.

        Args:
            batch: rows with `columns`.
            packed: skip padding.
        """
        indices, slots = self._masked_slots(batch, packed)
        rows, next_sentence = self.rows_at(spec.encoder_inputs(batch), slots, packed=packed)
        masked = self.masked_logits(rows)
        ids, weights = (tf.gather_nd(batch[name], indices) for name in ("masked_lm_ids", "masked_lm_weights"))
        correct = tf.cast(tf.argmax(masked, axis=-1, output_type=tf.int32) == ids, tf.float32)
        labels = batch["next_sentence_labels"]
        count = tf.shape(labels)[0]

        def per_sequence(values: tf.Tensor) -> tf.Tensor:
            return tf.math.unsorted_segment_sum(values * weights, indices[:, 0], count)

        best = tf.argmax(next_sentence, axis=-1, output_type=tf.int32)
        return {
            "masked_lm_losses": per_sequence(cross_entropy(ids, masked)),
            # per_sequence multiplies by the weights, so a sum of ones is the sum of weights.
            "masked_lm_weights": per_sequence(tf.ones_like(weights)),
            "masked_lm_correct": per_sequence(correct),
            "next_sentence_losses": cross_entropy(labels, next_sentence),
            "next_sentence_correct": tf.cast(best == labels, tf.float32),
        }


class MaskedLmHead(Scoped):
    """The masked-LM head: dense layer, activation, normalization, then the tied word embeddings.

    Its variables are cls/predictions/transform/{dense,LayerNorm}/… and
    cls/predictions/output_bias [V].
    """

    def __init__(self, config: BertConfig, seed: int):
        super().__init__("cls/predictions")
        hidden, width = config.hidden_size, config.embedding_width
        self.activation = config.masked_lm_activation
        self.transform = DenseLayer("cls/predictions/transform/dense", hidden, width, config.initializer_range, seed)
        self.norm = LayerNormalization("cls/predictions/transform/LayerNorm", width, config.layer_norm_eps)
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
        self.dense = DenseLayer(f"{self.scope}/dense", hidden, hidden, stddev, seed)
        self.output_layer = DenseLayer(f"{self.scope}/dense_1", hidden, 1, stddev, seed)

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
