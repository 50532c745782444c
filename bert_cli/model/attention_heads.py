"""Conversion between token rows and attention heads, per length bucket."""

from collections.abc import Callable, Sequence

import tensorflow as tf

from bert_cli.model.layout import HeadRows, Layout


def split_heads(
    x: tf.Tensor, heads: int, layout: Layout, head_rows: HeadRows, has_gradient: bool = True
) -> list[tf.Tensor]:
    """Return the heads of x, one tensor [B_g, N, S_g, D] per bucket.

    Padded slots hold copies of row 0. They have no effect, as their probability is 0.

    Args:
        x: token rows, [T, H].
        heads: N.
        layout: the batch's layout. A dense one returns a single tensor, [B, N, S, D].
        head_rows: the layout's `whole` or `bucketed`.
        has_gradient: False for predictions. TensorFlow keeps every custom gradient until the
            process ends, and with it the graph and its weights.
    """
    width = x.shape[-1] // heads
    if head_rows.to_rows is None:
        return [tf.transpose(tf.reshape(x, [layout.batch, layout.length, heads, width]), [0, 2, 1, 3])]

    def spread(x: tf.Tensor) -> tuple[tf.Tensor, ...]:
        # A single gather spreads and transposes: it moves rows of D numbers.
        rows = tf.reshape(x, [-1, width])
        return tuple(tf.gather(rows, bucket.rows) for bucket in head_rows.buckets)

    @tf.custom_gradient
    def forward(x: tf.Tensor) -> tuple[tuple[tf.Tensor, ...], Callable]:
        # Read only real slots: the gradient of padded keys and values is exactly 0.
        def gradient(*buckets: tf.Tensor) -> tf.Tensor:
            return _join(buckets, heads, head_rows)

        return spread(x), gradient

    buckets = forward(x) if has_gradient else spread(x)
    return [tf.ensure_shape(bucket, [None, heads, None, width]) for bucket in buckets]


def join_heads(
    buckets: Sequence[tf.Tensor], heads: int, layout: Layout, head_rows: HeadRows, has_gradient: bool = True
) -> tf.Tensor:
    """Return the token rows, [T, H]: the inverse of split_heads.

    Values in padded slots are dropped.

    Args:
        buckets: one tensor [B_g, N, S_g, D] per bucket.
        heads, layout, head_rows, has_gradient: as in split_heads.
    """
    width = buckets[0].shape[-1]
    if head_rows.to_rows is None:
        return tf.reshape(tf.transpose(buckets[0], [0, 2, 1, 3]), [layout.batch * layout.length, heads * width])

    @tf.custom_gradient
    def forward(*buckets: tf.Tensor) -> tuple[tf.Tensor, Callable]:
        def gradient(dy: tf.Tensor) -> list[tf.Tensor]:
            rows = tf.reshape(dy, [-1, width])
            zero = tf.zeros([], dy.dtype)
            return [tf.where(bucket.real, tf.gather(rows, bucket.rows), zero) for bucket in head_rows.buckets]

        return _join(buckets, heads, head_rows), gradient

    joined = forward(*buckets) if has_gradient else _join(buckets, heads, head_rows)
    return tf.ensure_shape(joined, [None, heads * width])


def _join(buckets: Sequence[tf.Tensor], heads: int, head_rows: HeadRows) -> tf.Tensor:
    """Return [T, H] from one [B_g, N, S_g, D] per bucket."""
    width = buckets[0].shape[-1]
    rows = [tf.reshape(values, [-1, width]) for values in buckets]
    flat = rows[0] if len(rows) == 1 else tf.concat(rows, axis=0)  # [slots, D]
    return tf.reshape(tf.gather(flat, head_rows.to_rows), [-1, heads * width])
