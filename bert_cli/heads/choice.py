"""Multiple choice: one logit per choice."""

import tensorflow as tf

from bert_cli.heads.classification import BertClassifier


class BertChoice(BertClassifier):
    """An encoder with a head that returns one logit per choice.

    The input is a dict of int32 [B, K, S] with K choices per example, the output is float32 [B, K].
    A softmax over an example's choices returns their probabilities.

    `label_count` must be 1. The variables, output_weights [1, H] and output_bias [1], do not depend
    on K and have a classifier's names.
    """

    description = "a fine-tuned model for multiple choice"

    def states(self, inputs, training=False, seed=None, packed=False):
        """Return float32 [B, K, W], see TaskModel."""
        shape = tf.shape(inputs["input_mask"])  # [B, K, S]
        rows = {name: tf.reshape(values, [-1, shape[2]]) for name, values in inputs.items()}  # [B·K, S]
        states = super().states(rows, training, seed, packed)  # [B·K, W]
        return tf.reshape(states, [shape[0], shape[1], self.state_width])

    def head_logits(self, states, seed=None):
        """Return the logits [B, K] of float32 [B, K, W], see BertClassifier."""
        # Use one logit per sequence; the loss applies the softmax over K.
        logits = super().head_logits(tf.reshape(states, [-1, self.state_width]), seed)  # [B·K, 1]
        return tf.reshape(logits, tf.shape(states)[:2])
