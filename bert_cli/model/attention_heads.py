"""Rows of tokens to the heads of attention and back, for the buckets of sequences of a layout."""

from collections.abc import Sequence

import tensorflow as tf

from bert_cli.model.layout import HeadRows, Layout


def split_heads(
    x: tf.Tensor, heads: int, layout: Layout, head_rows: HeadRows, has_gradient: bool = True
) -> list[tf.Tensor]:
    """[T, H] -> [B_g, N, S_g, D] of each bucket of a packed layout's `head_rows`, of a dense one
    [B, N, S, D] alone.

    Padded slots hold copies of row 0, which their zero probability hides. has_gradient: TensorFlow
    keeps each gradient of our own, and with it the graph and the weights that it refers to, for as
    long as the process lives; predictions do without.
    """
    width = x.shape[-1] // heads
    if head_rows.to_rows is None:
        return [tf.transpose(tf.reshape(x, [layout.batch, layout.length, heads, width]), [0, 2, 1, 3])]

    def spread(x):
        # One gather both spreads and transposes: it moves rows of D numbers.
        rows = tf.reshape(x, [-1, width])
        return tuple(tf.gather(rows, bucket.rows) for bucket in head_rows.buckets)

    @tf.custom_gradient
    def forward(x):
        def gradient(*buckets):  # padded keys and values have a gradient of exactly 0, so only real slots are read
            return _joined(buckets, heads, head_rows)

        return spread(x), gradient

    parts = forward(x) if has_gradient else spread(x)
    return [tf.ensure_shape(part, [None, heads, None, width]) for part in parts]


def join_heads(
    buckets: Sequence[tf.Tensor], heads: int, layout: Layout, head_rows: HeadRows, has_gradient: bool = True
) -> tf.Tensor:
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

        return _joined(buckets, heads, head_rows), gradient

    joined = forward(*buckets) if has_gradient else _joined(buckets, heads, head_rows)
    return tf.ensure_shape(joined, [None, heads * width])


def _joined(buckets: Sequence[tf.Tensor], heads: int, head_rows: HeadRows) -> tf.Tensor:
    """[B_g, N, S_g, D] of each bucket -> [T, H]."""
    width = buckets[0].shape[-1]
    rows = [tf.reshape(values, [-1, width]) for values in buckets]
    flat = rows[0] if len(rows) == 1 else tf.concat(rows, axis=0)  # [slots, D]
    return tf.reshape(tf.gather(flat, head_rows.to_rows), [-1, heads * width])
