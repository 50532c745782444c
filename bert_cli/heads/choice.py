"""The right one of several endings."""

import tensorflow as tf

from bert_cli.heads.classification import BertClassifier


class BertChoice(BertClassifier):
    """Encoder and a head of one logit: a dict of int32 [B, K, S] -> logits float32 [B, K] of K
    endings.

    label_count is 1: its variables are output_weights [1, H] and output_bias [1] at the root, the
    names of a classifier, so any number of endings has the same. A softmax over the endings of an
    example gives their probabilities.
    """

    kind = "a fine-tuned model for multiple choice"

    def states(self, inputs, training=False, seed=None, packed=False):
        """See TaskModel: float32 [B, K, W]."""
        shape = tf.shape(inputs["input_mask"])  # [B, K, S]
        rows = {name: tf.reshape(values, [-1, shape[2]]) for name, values in inputs.items()}  # [B·K, S]
        read = super().states(rows, training, seed, packed)  # [B·K, W]
        return tf.reshape(read, [shape[0], shape[1], self.state_width])

    def head_logits(self, states, seed=None):
        """See BertClassifier: float32 [B, K, W] -> [B, K]."""
        # One logit for each sequence; the softmax over K comes in the loss.
        logits = super().head_logits(tf.reshape(states, [-1, self.state_width]), seed)  # [B·K, 1]
        return tf.reshape(logits, tf.shape(states)[:2])
