"""Labels of texts: one row of logits for each, from the pooled output."""

import tensorflow as tf

from bert_cli.features import spec
from bert_cli.heads.model import TaskModel, cross_entropy, make_encoder, mean_weights
from bert_cli.model import ops
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.model.layers import Scoped

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


class BertClassifier(TaskModel):
    """Encoder and classifier head of run_classifier.py: a dict of int32 [B, S] -> logits float32 [B, n]."""

    kind = "a fine-tuned classifier"
    columns = prediction_columns = spec.CLASSIFICATION

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

    def loss_terms(self, batch, seed, packed, batch_size, frozen=False):
        """See TaskModel: the mean over the examples, n = B."""
        inputs = {name: batch[name] for name in spec.INPUTS}
        logits = self(inputs, training=True, seed=seed, packed=packed, frozen=frozen)
        losses = cross_entropy(batch["label_ids"], logits)
        return losses, mean_weights(losses, batch_size)

    def predictions(self, batch, packed):
        """`probabilities` [B, n] and `losses` [B], float32."""
        logits = self({name: batch[name] for name in spec.INPUTS}, packed=packed)
        return {"probabilities": tf.nn.softmax(logits), "losses": cross_entropy(batch["label_ids"], logits)}
