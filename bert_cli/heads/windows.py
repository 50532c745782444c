"""A classifier of texts in windows: the logits of a text are the mean of those of its windows."""

import tensorflow as tf

from bert_cli.features import spec
from bert_cli.heads.classification import BertClassifier


class BertWindowsClassifier(BertClassifier):
    """A BertClassifier of a dict of int32 [B, K, S] -> logits float32 [B, n]: the loss sees a text once, as predictions do.

    A window without tokens is none. Its variables are those of BertClassifier, whose arguments it takes.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.columns = self.prediction_columns = spec.windowed(self.columns)

    @property
    def state_columns(self):
        return ()  # a text has as many states as windows

    def call(self, inputs, training=False, seed=None, packed=False, frozen=False):
        mask = inputs["input_mask"]  # [B, K, S]
        shape = tf.shape(mask)
        if packed:  # of the places, as many for each text as the longest needs, the W that hold a window
            there = tf.where(mask[:, :, 0] > 0)
            rows = {name: tf.gather_nd(values, there) for name, values in inputs.items()}  # [W, S]
            logits = super().call(rows, training=training, seed=seed, packed=packed, frozen=frozen)  # [W, n]
            return tf.math.unsorted_segment_mean(logits, there[:, 0], shape[0])
        rows = {name: tf.reshape(values, [-1, shape[2]]) for name, values in inputs.items()}  # [B·K, S]
        logits = super().call(rows, training=training, seed=seed, packed=packed, frozen=frozen)  # [B·K, n]
        return mean_of_windows(tf.reshape(logits, [shape[0], shape[1], logits.shape[-1]]), mask[:, :, 0])


def mean_of_windows(logits: tf.Tensor, is_there: tf.Tensor) -> tf.Tensor:
    """float32 [B, K, n], of which is_there, int32 [B, K], says which windows count -> their mean, [B, n]."""
    weights = tf.cast(is_there, logits.dtype)
    return tf.einsum("bkn,bk->bn", logits, weights) / tf.reduce_sum(weights, axis=1, keepdims=True)
