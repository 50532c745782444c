"""Rows of tokens to the heads of attention and back, for the groups of sequences of a layout."""

from collections.abc import Sequence

import tensorflow as tf

from bert_cli.model.layout import Layout, Places


def split_heads(x: tf.Tensor, heads: int, layout: Layout, places: Places) -> list[tf.Tensor]:
    """[T, H] -> [B_g, N, S_g, D] of each group of a packed layout's `places`, of a dense one [B, N, S, D] alone.

    Padded slots hold copies of row 0, which their zero probability hides.
    """
    width = x.shape[-1] // heads
    if places.to_rows is None:
        return [tf.transpose(tf.reshape(x, [layout.batch, layout.length, heads, width]), [0, 2, 1, 3])]

    @tf.custom_gradient
    def forward(x):
        def gradient(*parts):  # padded keys and values have a gradient of exactly 0, so only real slots are read
            return tf.reshape(tf.gather(_flat(parts), places.to_rows), [-1, heads * width])

        # One gather both spreads and transposes: it moves rows of D numbers.
        rows = tf.reshape(x, [-1, width])
        return tuple(tf.gather(rows, group.rows) for group in places.groups), gradient

    return [tf.ensure_shape(part, [None, heads, None, width]) for part in forward(x)]


def join_heads(parts: Sequence[tf.Tensor], heads: int, layout: Layout, places: Places) -> tf.Tensor:
    """What split_heads gives -> [T, H]; what stands in padded slots is dropped."""
    width = parts[0].shape[-1]
    if places.to_rows is None:
        return tf.reshape(tf.transpose(parts[0], [0, 2, 1, 3]), [layout.batch * layout.length, heads * width])

    @tf.custom_gradient
    def forward(*parts):
        def gradient(dy):
            rows, zero = tf.reshape(dy, [-1, width]), tf.zeros([], dy.dtype)
            return [tf.where(group.real, tf.gather(rows, group.rows), zero) for group in places.groups]

        return tf.reshape(tf.gather(_flat(parts), places.to_rows), [-1, heads * width]), gradient

    return tf.ensure_shape(forward(*parts), [None, heads * width])


def _flat(parts: Sequence[tf.Tensor]) -> tf.Tensor:
    """[…, D] of each group -> rows of all, [places, D]."""
    rows = [tf.reshape(part, [-1, part.shape[-1]]) for part in parts]
    return rows[0] if len(rows) == 1 else tf.concat(rows, axis=0)
