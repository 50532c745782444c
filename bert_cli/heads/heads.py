"""What stands on top of the encoder for each task."""

import keras
import tensorflow as tf

from bert_cli.heads.encoders import make_encoder
from bert_cli.model import ops
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import Dense, LayerNorm, Scoped

# Fixed in the original, whatever the config's own rates say.
CLASSIFIER_DROPOUT = 0.1
HEAD_STDDEV = 0.02


class ClassifierHead(Scoped):
    """Logits from the pooled output: x Wᵀ + b; variables output_weights [n, H] and output_bias [n], at the root."""

    def __init__(self, hidden: int, label_count: int, seed: int):
        super().__init__("classifier")
        self.output_weights = self.add_normal("output_weights", (label_count, hidden), HEAD_STDDEV, seed)
        self.output_bias = self.add_scoped("output_bias", (label_count,), "zeros")
        self.checkpoint_names = ["output_weights", "output_bias"]  # the original gives them no scope

    def call(self, pooled, dropout_rate, seed=None):
        """pooled: float32 [B, H] -> float32 [B, n]."""
        pooled = ops.dropout(pooled, dropout_rate, seed)
        return tf.nn.bias_add(tf.matmul(pooled, self.output_weights.value, transpose_b=True), self.output_bias.value)


class BertClassifier(keras.Model):
    """Encoder and classifier head of run_classifier.py: a dict of int32 [B, S] -> logits float32 [B, n]."""

    def __init__(
        self, config: BertConfig | ModuleConfig, label_count: int, compute_dtype: str = "float32", seed: int = 0
    ):
        super().__init__(name="classifier_model", autocast=False)
        self.encoder = make_encoder(config, compute_dtype, seed)
        self.head = ClassifierHead(config.hidden_size, label_count, seed)
        self.head_dropout = CLASSIFIER_DROPOUT
        self.built = True

    def call(self, inputs, training=False, seed=None, packed=False, frozen=False):
        """frozen: no dropout in the encoder, as it is not trained."""
        if training and seed is None:
            seed = tf.random.uniform([2], maxval=2**31 - 1, dtype=tf.int32)
        outputs = self.encoder(inputs, training=training and not frozen, seed=seed, packed=packed, pooled_only=True)
        head_seed = seed + tf.constant([1, 0]) if training else None  # a row of its own, away from the encoder's places
        return self.head(outputs["pooled_output"], dropout_rate=self.head_dropout, seed=head_seed)


class MaskedLmHead(Scoped):
    """Logits over the vocabulary for hidden rows: dense, activation, normalisation, then the tied word embeddings.

    Variables: cls/predictions/transform/{dense,LayerNorm}/…, cls/predictions/output_bias [V].
    """

    def __init__(self, config: BertConfig, seed: int):
        super().__init__("cls/predictions")
        hidden = config.hidden_size
        self.activation = config.activation
        self.transform = Dense("cls/predictions/transform/dense", hidden, hidden, config.initializer_range, seed)
        self.norm = LayerNorm("cls/predictions/transform/LayerNorm", hidden, config.layer_norm_eps)
        self.output_bias = self.add_scoped("output_bias", (config.vocab_size,), "zeros")

    def transformed(self, rows, training=False):
        """What is compared with the word embeddings: [M, H] -> [M, H], both in the compute dtype."""
        return self.norm(ops.activate(self.transform(rows), self.activation, training))

    def call(self, rows, word_embeddings, training=False):
        """rows: [M, H] in the compute dtype, word_embeddings: float32 [V, H] -> float32 [M, V]."""
        x = self.transformed(rows, training)
        logits = tf.matmul(x, tf.cast(word_embeddings, x.dtype), transpose_b=True)
        return tf.nn.bias_add(tf.cast(logits, tf.float32), self.output_bias.value)


class NextSentenceHead(Scoped):
    """Logits [B, 2] from the pooled output: index 0 is "B follows A", 1 is "B is random"."""

    def __init__(self, config: BertConfig, seed: int):
        super().__init__("cls/seq_relationship")
        stddev = config.initializer_range
        self.output_weights = self.add_normal("output_weights", (2, config.hidden_size), stddev, seed)
        self.output_bias = self.add_scoped("output_bias", (2,), "zeros")

    def call(self, pooled):
        return tf.nn.bias_add(tf.matmul(pooled, self.output_weights.value, transpose_b=True), self.output_bias.value)


class BertPretrainer(keras.Model):
    """Encoder with the masked-LM and next-sentence heads of run_pretraining.py.

    A dict of int32 [B, S] and `masked_lm_positions` int32 [B, P] -> dict of float32 `masked_lm_logits` [B, P, V] and
    `next_sentence_logits` [B, 2]. Only the masked positions go through the head.
    """

    def __init__(self, config: BertConfig, compute_dtype: str = "float32", seed: int = 0):
        super().__init__(name="pretraining_model", autocast=False)
        self.encoder = BertEncoder(config, compute_dtype, seed)
        self.masked_lm = MaskedLmHead(config, seed)
        self.next_sentence = NextSentenceHead(config, seed)
        self.built = True

    def call(self, inputs, training=False, seed=None, packed=False):
        positions = tf.cast(inputs["masked_lm_positions"], tf.int32)
        shape = tf.shape(positions)
        starts = tf.range(shape[0])[:, tf.newaxis] * tf.shape(inputs["input_word_ids"])[1]
        slots = tf.reshape(starts + positions, [-1])
        masked_lm, next_sentence = self.score(inputs, slots, training, seed, packed)
        return {
            "masked_lm_logits": tf.reshape(masked_lm, tf.concat([shape, tf.shape(masked_lm)[1:]], axis=0)),
            "next_sentence_logits": next_sentence,
        }

    def score(self, inputs, slots, training=False, seed=None, packed=False) -> tuple[tf.Tensor, tf.Tensor]:
        """Logits at chosen places only: slots int32 [M], b·S+s -> masked-LM [M, V] and next-sentence [B, 2], float32."""
        rows, next_sentence = self.rows_at(inputs, slots, training, seed, packed)
        words = tf.convert_to_tensor(self.encoder.embeddings.words.value)
        return self.masked_lm(rows, word_embeddings=words, training=training), next_sentence

    def rows_at(self, inputs, slots, training=False, seed=None, packed=False) -> tuple[tf.Tensor, tf.Tensor]:
        """The encoder's rows at `slots`, [M, H] in the compute dtype, and next-sentence logits, float32 [B, 2]."""
        outputs = self.encoder(inputs, training=training, seed=seed, packed=packed)
        sequence = outputs["sequence_output"]  # [B, S, H]
        rows = tf.gather(tf.reshape(sequence, [-1, sequence.shape[-1]]), slots)
        return tf.cast(rows, self.encoder.product_dtype), self.next_sentence(outputs["pooled_output"])


class SpanHead(Scoped):
    """Start and end logits for each token: variables cls/squad/output_weights [2, H], output_bias [2]."""

    def __init__(self, hidden: int, seed: int):
        super().__init__("cls/squad")
        self.output_weights = self.add_normal("output_weights", (2, hidden), HEAD_STDDEV, seed)
        self.output_bias = self.add_scoped("output_bias", (2,), "zeros")

    def call(self, sequence):
        """sequence: float32 [B, S, H] -> (start, end), each float32 [B, S]."""
        logits = tf.einsum("bsh,nh->nbs", sequence, self.output_weights.value)
        logits += tf.convert_to_tensor(self.output_bias.value)[:, tf.newaxis, tf.newaxis]
        return logits[0], logits[1]


class BertSpanModel(keras.Model):
    """Encoder and span head of run_squad.py: a dict of int32 [B, S] -> (start, end) logits, each float32 [B, S].

    The original's loss has the padded positions in its softmax, so training computes them too (`packed=False`).
    """

    def __init__(self, config: BertConfig | ModuleConfig, compute_dtype: str = "float32", seed: int = 0):
        super().__init__(name="span_model", autocast=False)
        self.encoder = make_encoder(config, compute_dtype, seed)
        self.head = SpanHead(config.hidden_size, seed)
        self.built = True

    def call(self, inputs, training=False, seed=None, packed=False):
        outputs = self.encoder(inputs, training=training, seed=seed, packed=packed)
        return self.head(outputs["sequence_output"])
