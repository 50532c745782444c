"""Where the tokens of a batch lie: all B·S slots, or only the real ones, packed one after the other.

Everything in BERT but attention works token by token, so padding needs no computing at all: the T real tokens of a
batch are kept as rows of one matrix, and only attention spreads them out to [B, N, S, D]. The result at real tokens
equals the padded computation, whose padded keys get a probability of exactly 0 (exp(-10000) in float32).

Letters: B batch, S sequence, T computed tokens, H hidden, N heads, D head width.
"""

import dataclasses

import tensorflow as tf

# Added to the scores of padded keys, as in the original.
MASKED_SCORE = -10000.0


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """Index arrays of one batch, made once for all layers. A dense layout has None from `slots` on, and T = B·S."""

    batch: tf.Tensor | int  # B
    length: tf.Tensor | int  # S
    key_bias: tf.Tensor  # float32 [B, 1, 1, S]: 0 for a real key, -10000 for a padded one
    slots: tf.Tensor | None  # int32 [T]: flat slot b·S+s of each computed token, ascending
    rows: tf.Tensor | None  # int32 [B·S]: the computed token of each slot; 0 where the slot is padding
    real: tf.Tensor | None  # bool [B·S]: False where the slot is padding
    # Between rows of D numbers [T·N, D] and [B, N, S, D], flat [B·N·S, D]:
    to_heads: tf.Tensor | None  # int32 [B, N, S]: the row of T·N for each place
    to_rows: tf.Tensor | None  # int32 [T, N]: the place of each row


def _sizes(mask: tf.Tensor) -> tuple:
    static, dynamic = mask.shape, tf.shape(mask)
    return tuple(static[i] if static[i] is not None else dynamic[i] for i in range(2))


def dense_layout(mask: tf.Tensor) -> Layout:
    """Compute every slot, padding included, as the original does. mask: int32 [B, S]."""
    batch, length = _sizes(mask)
    key_bias = (1.0 - tf.cast(mask, tf.float32))[:, tf.newaxis, tf.newaxis, :] * MASKED_SCORE
    return Layout(batch, length, key_bias, None, None, None, None, None)


def packed_layout(mask: tf.Tensor, heads: int) -> Layout:
    """Compute only slots whose mask is 1, and the first of each row (the pooler reads it). mask: int32 [B, S]; heads: N."""
    dense = dense_layout(mask)
    first = tf.one_hot(0, dense.length, on_value=True, off_value=False, dtype=tf.bool)[tf.newaxis, :]  # [1, S]
    real = tf.reshape(tf.logical_or(mask > 0, first), [-1])
    slots = tf.cast(tf.where(real)[:, 0], tf.int32)
    rows = tf.maximum(tf.cumsum(tf.cast(real, tf.int32)) - 1, 0)
    rows = tf.where(real, rows, 0)
    head = tf.range(heads)
    to_heads = tf.reshape(rows, [dense.batch, 1, dense.length]) * heads + head[tf.newaxis, :, tf.newaxis]
    sequence, position = slots // dense.length, slots % dense.length
    to_rows = (sequence[:, tf.newaxis] * heads + head) * dense.length + position[:, tf.newaxis]
    return dataclasses.replace(dense, slots=slots, rows=rows, real=real, to_heads=to_heads, to_rows=to_rows)


def first_token(seed: tf.Tensor | None, layout: Layout) -> tf.Tensor | None:
    """For ops.dropout of rows of tokens: which of all shares' tokens the first one is; None where there is one share."""
    if seed is None or seed.shape[0] == 2:
        return None
    return seed[2] * layout.length if layout.slots is None else seed[3]


def collect(values: tf.Tensor, layout: Layout) -> tf.Tensor:
    """[B, S, …] -> [T, …]: the computed slots."""
    flat = tf.reshape(values, tf.concat([[-1], tf.shape(values)[2:]], axis=0))
    return flat if layout.slots is None else tf.gather(flat, layout.slots)


def spread(x: tf.Tensor, layout: Layout) -> tf.Tensor:
    """[T, H] -> [B, S, H], zeros in slots that were not computed."""
    width = x.shape[-1]
    if layout.real is not None:
        x = tf.where(layout.real[:, tf.newaxis], tf.gather(x, layout.rows), tf.zeros([], x.dtype))
    return tf.reshape(x, [layout.batch, layout.length, width])


def first_rows(layout: Layout) -> tf.Tensor:
    """int32 [B]: the row, among the T computed tokens, of each sequence's first token."""
    starts = tf.range(layout.batch) * layout.length
    return starts if layout.rows is None else tf.gather(layout.rows, starts)


def split_heads(x: tf.Tensor, heads: int, layout: Layout) -> tf.Tensor:
    """[T, H] -> [B, N, S, D]. In a packed layout padded slots hold copies of row 0, which their zero probability hides."""
    width = x.shape[-1] // heads
    if layout.slots is None:
        return tf.transpose(tf.reshape(x, [layout.batch, layout.length, heads, width]), [0, 2, 1, 3])
    to_heads, to_rows = layout.to_heads, layout.to_rows

    @tf.custom_gradient
    def forward(x):
        def gradient(dy):  # padded keys and values have a gradient of exactly 0, so only real slots are read
            return tf.reshape(tf.gather(tf.reshape(dy, [-1, width]), to_rows), [-1, heads * width])

        # One gather both spreads and transposes: it moves rows of D numbers.
        return tf.gather(tf.reshape(x, [-1, width]), to_heads), gradient

    return tf.ensure_shape(forward(x), [None, heads, None, width])


def join_heads(x: tf.Tensor, heads: int, layout: Layout) -> tf.Tensor:
    """[B, N, S, D] -> [T, H]: the inverse of split_heads; what stands in padded slots is dropped."""
    width = x.shape[-1]
    if layout.slots is None:
        return tf.reshape(tf.transpose(x, [0, 2, 1, 3]), [layout.batch * layout.length, heads * width])
    to_heads, to_rows = layout.to_heads, layout.to_rows
    real = tf.reshape(layout.real, [layout.batch, 1, layout.length, 1])

    @tf.custom_gradient
    def forward(x):
        def gradient(dy):
            spread_out = tf.gather(tf.reshape(dy, [-1, width]), to_heads)
            return tf.where(real, spread_out, tf.zeros([], dy.dtype))

        return tf.reshape(tf.gather(tf.reshape(x, [-1, width]), to_rows), [-1, heads * width]), gradient

    return tf.ensure_shape(forward(x), [None, heads * width])
