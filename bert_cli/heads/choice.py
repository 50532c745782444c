"""The right one of several endings: a logit for each, from the pooled output of the context with that ending."""

import tensorflow as tf

from bert_cli.base.head_types import POOLED, TextInput
from bert_cli.heads.classification import BertClassifier
from bert_cli.heads.model import PLAIN_TRAINING, TrainingRule, text_rows
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE


class BertChoice(BertClassifier):
    """Encoder and a head of one logit: a dict of int32 [B, K, S] -> logits float32 [B, K] of K endings.

    Its variables are output_weights [1, H] and output_bias [1] at the root, the names of a classifier, so any number of
    endings has the same. A softmax over the endings of an example gives their probabilities.
    """

    kind = "a fine-tuned model for multiple choice"

    def __init__(
        self,
        config: BertConfig | ModuleConfig,
        compute_dtype: str = "float32",
        seed: int = 0,
        text_input: TextInput = POOLED,
        rule: TrainingRule = PLAIN_TRAINING,
    ):
        super().__init__(config, 1, compute_dtype, seed, MULTIPLE_CHOICE.name, text_input, rule)

    def states(self, inputs, training=False, seed=None, packed=False):
        """See TaskModel: float32 [B, K, W]."""
        shape = tf.shape(inputs["input_mask"])  # [B, K, S]
        rows = {name: tf.reshape(values, [-1, shape[2]]) for name, values in inputs.items()}  # [B·K, S]
        read = text_rows(self.encoder, self.text_input, rows, training, seed, packed)  # [B·K, W]
        return tf.reshape(read, [shape[0], shape[1], self.state_width])

    def head_logits(self, states, seed=None):
        """See TextModel: float32 [B, K, W] -> [B, K]."""
        # One logit for each sequence; the softmax over K comes in the loss.
        logits = super().head_logits(tf.reshape(states, [-1, self.state_width]), seed)  # [B·K, 1]
        return tf.reshape(logits, tf.shape(states)[:2])
