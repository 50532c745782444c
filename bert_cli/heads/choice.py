"""The right one of several endings: a logit for each, from the pooled output of the context with that ending."""

import tensorflow as tf

from bert_cli.features import spec
from bert_cli.heads.classification import CLASSIFIER_DROPOUT, ClassifierHead
from bert_cli.heads.model import TaskModel, cross_entropy, make_encoder, mean_weights
from bert_cli.model import ops
from bert_cli.model.config import BertConfig, ModuleConfig


class BertChoice(TaskModel):
    """Encoder and a head of one logit: a dict of int32 [B, K, S] -> logits float32 [B, K] of K endings.

    Its variables are output_weights [1, H] and output_bias [1] at the root, the names of a classifier, so any number of
    endings has the same. A softmax over the endings of an example gives their probabilities.
    """

    kind = "a fine-tuned model for multiple choice"
    columns = prediction_columns = spec.CHOICE

    def __init__(self, config: BertConfig | ModuleConfig, compute_dtype: str = "float32", seed: int = 0):
        super().__init__(name="choice_model", autocast=False)
        self.encoder = make_encoder(config, compute_dtype, seed)
        self.head = ClassifierHead(config.hidden_size, 1, seed)
        self.head_dropout = CLASSIFIER_DROPOUT
        self.built = True

    def call(self, inputs, training=False, seed=None, packed=False, frozen=False):
        """frozen: no dropout in the encoder, as it is not trained."""
        if training and seed is None:
            seed = tf.random.uniform([2], maxval=2**31 - 1, dtype=tf.int32)
        shape = tf.shape(inputs["input_mask"])  # [B, K, S]
        rows = {name: tf.reshape(values, [-1, shape[2]]) for name, values in inputs.items()}  # [B·K, S]
        outputs = self.encoder(rows, training=training and not frozen, seed=seed, packed=packed, pooled_only=True)
        head_seed = ops.at_place(seed, 1, 0) if training else None  # a row of its own, away from the encoder's places
        logits = self.head(outputs["pooled_output"], dropout_rate=self.head_dropout, seed=head_seed)  # [B·K, 1]
        return tf.reshape(logits, shape[:2])

    def loss_terms(self, batch, seed, packed, batch_size, frozen=False):
        """See TaskModel: the mean over the examples, n = B."""
        inputs = {name: batch[name] for name in spec.INPUTS}
        losses = cross_entropy(batch["label_ids"], self(inputs, training=True, seed=seed, packed=packed, frozen=frozen))
        return losses, mean_weights(losses, batch_size)

    def predictions(self, batch, packed):
        """`probabilities` [B, K] and `losses` [B], float32."""
        logits = self({name: batch[name] for name in spec.INPUTS}, packed=packed)
        return {"probabilities": tf.nn.softmax(logits), "losses": cross_entropy(batch["label_ids"], logits)}
