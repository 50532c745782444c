"""Multiple choice: one logit per choice."""

import tensorflow as tf

from bert_cli.heads.classification import BertTextClassifier


class BertChoice(BertTextClassifier):
    """An encoder with a head that returns one logit per choice.

    The input is a dict of int32 [B, K, S] with K choices per example, the output is float32 [B, K].
    A softmax over an example's choices returns their probabilities.

    `label_count` must be 1. The variables, output_weights [1, H] and output_bias [1], do not depend
    on K and have a classifier's names.
    """

    def call(
        self,
        inputs: dict[str, tf.Tensor],
        training: bool = False,
        seed: tf.Tensor | None = None,
        packed: bool = False,
        frozen: bool = False,
    ) -> tf.Tensor:
        shape = tf.shape(inputs["input_mask"])  # [B, K, S]
        rows = {name: tf.reshape(values, [-1, shape[2]]) for name, values in inputs.items()}  # [B·K, S]
        logits = super().call(rows, training=training, seed=seed, packed=packed, frozen=frozen)  # [B·K]
        return tf.reshape(logits, shape[:2])

    def head_logits(self, states: tf.Tensor, seed: tf.Tensor | None = None) -> tf.Tensor:
        """Return the logits [...] of float32 [..., W], see BertTextClassifier."""
        # Use one logit per sequence; the loss applies the softmax over K.
        logits = super().head_logits(tf.reshape(states, [-1, self.state_width]), seed)  # [B·K, 1]
        return tf.reshape(logits, tf.shape(states)[:-1])
