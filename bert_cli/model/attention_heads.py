"""Rows of tokens to the heads of attention and back, for the buckets of sequences of a layout."""

from collections.abc import Sequence

import tensorflow as tf

from bert_cli.model.layout import HeadRows, Layout


def split_heads(x: tf.Tensor, heads: int, layout: Layout, head_rows: HeadRows) -> list[tf.Tensor]:
    """[T, H] -> [B_g, N, S_g, D] of each bucket of a packed layout's `head_rows`, of a dense one
    [B, N, S, D] alone.

    Padded slots hold copies of row 0, which their zero probability hides.
    """
    width = x.shape[-1] // heads
    if head_rows.to_rows is None:
        return [tf.transpose(tf.reshape(x, [layout.batch, layout.length, heads, width]), [0, 2, 1, 3])]

    @tf.custom_gradient
    def forward(x):
        def gradient(*buckets):  # padded keys and values have a gradient of exactly 0, so only real slots are read
            return tf.reshape(tf.gather(_flat(buckets), head_rows.to_rows), [-1, heads * width])

        # One gather both spreads and transposes: it moves rows of D numbers.
        rows = tf.reshape(x, [-1, width])
        return tuple(tf.gather(rows, bucket.rows) for bucket in head_rows.buckets), gradient

    return [tf.ensure_shape(part, [None, heads, None, width]) for part in forward(x)]


def join_heads(buckets: Sequence[tf.Tensor], heads: int, layout: Layout, head_rows: HeadRows) -> tf.Tensor:
    """The inverse of split_heads, -> [T, H]; values in padded slots are dropped."""
    width = buckets[0].shape[-1]
    if head_rows.to_rows is None:
        return tf.reshape(tf.transpose(buckets[0], [0, 2, 1, 3]), [layout.batch * layout.length, heads * width])

    @tf.custom_gradient
    def forward(*buckets):
        def gradient(dy):
            rows = tf.reshape(dy, [-1, width])
            zero = tf.zeros([], dy.dtype)
            return [tf.where(bucket.real, tf.gather(rows, bucket.rows), zero) for bucket in head_rows.buckets]

        return tf.reshape(tf.gather(_flat(buckets), head_rows.to_rows), [-1, heads * width]), gradient

    return tf.ensure_shape(forward(*buckets), [None, heads * width])


def _flat(buckets: Sequence[tf.Tensor]) -> tf.Tensor:
    """[…, D] of each bucket -> rows of all, [slots, D]."""
    rows = [tf.reshape(values, [-1, values.shape[-1]]) for values in buckets]
    return rows[0] if len(rows) == 1 else tf.concat(rows, axis=0)
