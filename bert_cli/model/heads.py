"""What stands on top of the encoder for each task."""

import keras
import tensorflow as tf

from bert_cli.model import ops
from bert_cli.model.config import BertConfig
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import Scoped

# Fixed in the original, whatever the config's own rates say.
CLASSIFIER_DROPOUT = 0.1
CLASSIFIER_STDDEV = 0.02


class ClassifierHead(Scoped):
    """Logits from the pooled output: x Wᵀ + b; variables output_weights [n, H] and output_bias [n], at the root."""

    def __init__(self, hidden: int, label_count: int, seed: int):
        super().__init__("classifier")
        self.output_weights = self.add_normal("output_weights", (label_count, hidden), CLASSIFIER_STDDEV, seed)
        self.output_bias = self.add_scoped("output_bias", (label_count,), "zeros")
        self.checkpoint_names = ["output_weights", "output_bias"]  # the original gives them no scope

    def call(self, pooled, dropout_rate, seed=None):
        """pooled: float32 [B, H] -> float32 [B, n]."""
        pooled = ops.dropout(pooled, dropout_rate, seed)
        return tf.nn.bias_add(tf.matmul(pooled, self.output_weights.value, transpose_b=True), self.output_bias.value)


class BertClassifier(keras.Model):
    """Encoder and classifier head of run_classifier.py: a dict of int32 [B, S] -> logits float32 [B, n]."""

    def __init__(self, config: BertConfig, label_count: int, compute_dtype: str = "float32", seed: int = 0):
        super().__init__(name="classifier_model", autocast=False)
        self.encoder = BertEncoder(config, compute_dtype, seed)
        self.head = ClassifierHead(config.hidden_size, label_count, seed)
        self.head_dropout = CLASSIFIER_DROPOUT
        self.built = True

    def call(self, inputs, training=False, seed=None, packed=False):
        if training and seed is None:
            seed = tf.random.uniform([2], maxval=2**31 - 1, dtype=tf.int32)
        outputs = self.encoder(inputs, training=training, seed=seed, packed=packed, pooled_only=True)
        head_seed = seed + tf.constant([1, 0]) if training else None  # a row of its own, away from the encoder's places
        return self.head(outputs["pooled_output"], dropout_rate=self.head_dropout, seed=head_seed)
