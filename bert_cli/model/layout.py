"""The layout of a batch: all B·S slots, or only the real tokens, packed together.

Only attention relates tokens to each other. So the T real tokens are kept as rows in one matrix, and
padding is not computed; only attention spreads the rows to [B, N, S, D]. Results at real tokens equal
those with padding, because padded keys have a probability of exactly 0 (exp(-10000) in float32).

Training batches have texts of any length. Attention then uses two length buckets, so that short
sequences are not padded to the longest. Predictions use batches of similar length.

Shapes: B batch, S sequence, T computed tokens, H hidden, N heads, D head width.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from bert_cli.model.config import MASKED_SCORE
from bert_cli.model.ops import traced_once

# Generating code for a new product shape takes milliseconds. So sizes that vary between batches are
# multiples: widths of WIDTHS; row counts of ROWS below 512,
# of 2 · ROWS below 1,024, of 4 · ROWS below 2,048 and so on.
ROWS, WIDTHS = 16, 8
_DOUBLINGS = tuple(512 << power for power in range(16))


class LengthBucket(NamedTuple):
    """B_g sequences with up to S_g tokens; attention is computed over them together.

    Attributes:
        rows: int32 [B_g, N, S_g], the row of each slot in [T·N, D].
        real: bool [B_g, 1, S_g, 1], False for padding.
        key_bias: float32 [B_g, 1, 1, S_g], 0 for a real key, -10000 for a padded one.
        first: for ops.dropout, the number of this bucket's sequences in earlier shards; None if
            the batch has one shard.
    """

    rows: tf.Tensor | None
    real: tf.Tensor | None
    key_bias: tf.Tensor
    first: tf.Tensor | None


class HeadRows(NamedTuple):
    """Index arrays between the rows [T·N, D] and [B_g, N, S_g, D] per bucket.

    Attributes:
        buckets: the length buckets. A dense layout has a single one, without rows and real.
        to_rows: int32 [T, N], the slot of each row if all buckets are flattened and concatenated;
            None in a dense layout.
    """

    buckets: tuple[LengthBucket, ...]
    to_rows: tf.Tensor | None


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """Index arrays for a batch, computed once and used by all layers.

    A dense layout computes every slot: T = B·S. It has no slots, rows and real.

    Attributes:
        batch: B.
        length: S.
        slots: int32 [T], the flat slot b·S+s of each computed token, ascending.
        rows: int32 [B·S], the computed token of each slot; 0 for padding.
        real: bool [B·S], False for padding.
        whole: for attention over all sequences together.
        bucketed: for attention over a longer and a shorter bucket; equals `whole` if not requested.
    """

    batch: tf.Tensor | int
    length: tf.Tensor | int
    slots: tf.Tensor | None
    rows: tf.Tensor | None
    real: tf.Tensor | None
    whole: HeadRows
    bucketed: HeadRows


def _sizes(mask: tf.Tensor) -> tuple:
    static = mask.shape
    dynamic = tf.shape(mask)
    return tuple(static[i] if static[i] is not None else dynamic[i] for i in range(2))


def dense_layout(mask: tf.Tensor) -> Layout:
    """Return the layout that computes every slot, as the original does.

    Args:
        mask: int32 [B, S].
    """
    batch, length = _sizes(mask)
    # Use no slice with new axes, which TensorFlow Lite does not have.
    key_bias = tf.expand_dims(tf.expand_dims(1.0 - tf.cast(mask, tf.float32), 1), 1) * MASKED_SCORE
    whole = HeadRows((LengthBucket(None, None, key_bias, None),), None)
    return Layout(batch, length, None, None, None, whole, whole)


def packed_layout(
    mask: tf.Tensor, heads: int, is_trained: bool = False, bucketed: bool = False, shard: tf.Tensor | None = None
) -> Layout:
    """Return the layout that computes only slots with mask 1.

    The first slot of each sequence is computed in any case, because the pooler reads it. Attention
    widths are multiples of WIDTHS. Unused rows follow the tokens, so T is a multiple of ROWS.

    Args:
        mask: int32 [B, S].
        heads: N.
        is_trained: unused rows need a gradient of 0, so add none if no slot is padded.
        bucketed: compute attention over shorter sequences separately.
        shard: for a shard of a batch, its seed without the first two numbers, see ops.dropout.
    """
    return Layout(*_sizes(mask), *_packed_tables(mask, heads, is_trained, bucketed, shard))


@traced_once
def _packed_tables(
    mask: tf.Tensor, heads: int, is_trained: bool, bucketed: bool, shard: tf.Tensor | None
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, HeadRows, HeadRows]:
    """Return slots, rows, real, whole and bucketed for a packed Layout."""
    batch, length = _sizes(mask)
    width = _round_up(length, WIDTHS)
    mask = tf.pad(mask, [[0, 0], [0, width - length]])  # [B, W]
    real = tf.logical_or(mask > 0, tf.range(width) == 0)
    flat = tf.reshape(real, [-1])
    rows = tf.where(flat, tf.cumsum(tf.cast(flat, tf.int32)) - 1, 0)
    tables = _Tables(tf.reshape(rows, [batch, width]), real, (1.0 - tf.cast(mask, tf.float32)) * MASKED_SCORE, heads)
    sequence, position = tf.unstack(tf.cast(tf.where(real), tf.int32), axis=1)  # [T]

    widths = widths_of(mask)
    if bucketed:
        bound = short_width(widths) if shard is None else shard[2]
        is_longer = widths > bound
        short = _round_up(bound, WIDTHS)
        bucket_widths = tf.where(is_longer, width, short)
    else:
        bucket_widths = tf.broadcast_to(width, [batch])

    # Unused rows read the slot after a sequence's end: attention ignores it, so its gradient is 0.
    # If every sequence fills its bucket, they repeat the row of a token. The arrays are padded by
    # one number, because a batch, or a shard of it, may have no sequences.
    ends, bucket_ends = tf.pad(widths, [[0, 1]]), tf.pad(bucket_widths, [[0, 1]])
    spare = tf.argmax(bucket_ends - ends, output_type=tf.int32)
    tokens = tf.size(sequence)
    end = ends[spare]
    multiple = tf.bitwise.left_shift(ROWS, tf.reduce_sum(tf.cast(tokens >= tf.constant(_DOUBLINGS), tf.int32)))
    is_spare = bucket_ends[spare] > end
    unused = -tokens % multiple
    if is_trained:
        unused = tf.where(is_spare, unused, 0)
    slots = tf.concat([sequence * length + position, tf.fill([unused], spare * length)], axis=0)
    sequence = tf.concat([sequence, tf.fill([unused], spare)], axis=0)
    position = tf.concat([position, tf.fill([unused], tf.where(is_spare, end, 0))], axis=0)

    before = None if shard is None else shard[0]
    bucket = tables.bucket(before)
    to_rows = tf.expand_dims(sequence * (heads * width) + position, 1) + tf.range(heads) * width
    whole = bucketed_rows = HeadRows((bucket,), to_rows)
    if bucketed:
        firsts = (None, None) if shard is None else (before - shard[3], shard[3])
        longer, shorter = (
            tf.cast(tf.reshape(tf.where(chosen), [-1]), tf.int32) for chosen in (is_longer, tf.logical_not(is_longer))
        )
        buckets = (tables.bucket(firsts[0], longer), tables.bucket(firsts[1], shorter, short))
        starts = tf.gather(_first_slots(is_longer, bucket_widths, heads), sequence)
        token_widths = tf.gather(bucket_widths, sequence)
        bucketed_rows = HeadRows(
            buckets, tf.expand_dims(starts + position, 1) + tf.expand_dims(token_widths, 1) * tf.range(heads)
        )
    rows, real = (tf.reshape(table[:, :length], [-1]) for table in (tables.rows, tables.real))
    return slots, rows, real, whole, bucketed_rows


class _Tables(NamedTuple):
    """Arrays for all sequences, up to the largest width W; buckets are selected from them.

    Attributes:
        rows: int32 [B, W], the computed token of each slot.
        real: bool [B, W], False for padding.
        key_bias: float32 [B, W].
        heads: N.
    """

    rows: tf.Tensor
    real: tf.Tensor
    key_bias: tf.Tensor
    heads: int

    def bucket(
        self, first: tf.Tensor | None, chosen: tf.Tensor | None = None, width: tf.Tensor | None = None
    ) -> LengthBucket:
        """Return a bucket.

        Args:
            first: see LengthBucket.
            chosen: indices of its sequences, int32 [B_g]; None for all.
            width: number of slots per sequence; None for W.
        """
        tables: Sequence[tf.Tensor] = self[:3]
        if width is not None:
            tables = [table[:, :width] for table in tables]
        if chosen is not None:
            tables = [tf.gather(table, chosen) for table in tables]
        rows, real, key_bias = (tf.expand_dims(table, 1) for table in tables)
        heads = tf.expand_dims(tf.range(self.heads), 1)
        return LengthBucket(rows * self.heads + heads, tf.expand_dims(real, 3), tf.expand_dims(key_bias, 1), first)


def _first_slots(is_longer: tf.Tensor, widths: tf.Tensor, heads: int) -> tf.Tensor:
    """Return each sequence's first slot, int32 [B], if the longer sequences precede the others.

    Args:
        is_longer: bool [B], True for sequences in the longer bucket.
        widths: width of each sequence's bucket, int32 [B].
        heads: N.
    """
    slots = widths * heads
    longer, shorter = (tf.where(chosen, slots, 0) for chosen in (is_longer, tf.logical_not(is_longer)))
    after = tf.reduce_sum(longer) + tf.cumsum(shorter, exclusive=True)
    return tf.where(is_longer, tf.cumsum(longer, exclusive=True), after)


def _round_up(count: tf.Tensor | int, multiple: int) -> tf.Tensor | int:
    """Return the smallest multiple that is at least `count`."""
    # Floor division of the negative number rounds up, also for tensors.
    return -(-count // multiple) * multiple


def widths_of(mask: tf.Tensor) -> tf.Tensor:
    """Return the number of computed slots per sequence, int32 [B].

    Args:
        mask: int32 [B, S].
    """
    # At least 1: the pooler reads the first slot even if a sequence has no real token.
    return tf.maximum(tf.reduce_max(tf.where(mask > 0, tf.range(1, tf.shape(mask)[1] + 1), 0), axis=1), 1)


def short_width(widths: tf.Tensor) -> tf.Tensor:
    """Return the shorter bucket's width that minimizes the pairs of slots in attention.

    Args:
        widths: int32 [B], from widths_of.
    """
    widths = tf.sort(widths, direction="DESCENDING")
    longer = tf.range(tf.size(widths))  # sequences left in the longer bucket for each width
    pairs = longer * widths[0] ** 2 + (tf.size(widths) - longer) * widths**2
    return widths[tf.argmin(pairs, output_type=tf.int32)]


def first_token(seed: tf.Tensor | None, layout: Layout) -> tf.Tensor | None:
    """Return the index of this shard's first token among all shards' tokens, for ops.dropout.

    None if the batch has one shard.
    """
    if seed is None or seed.shape[0] == 2:
        return None
    return seed[2] * layout.length if layout.slots is None else seed[3]


def gather_computed_slots(values: tf.Tensor, layout: Layout) -> tf.Tensor:
    """Return the computed slots, from [B, S, …] to [T, …]."""
    flat = tf.reshape(values, tf.concat([[-1], tf.shape(values)[2:]], axis=0))
    return flat if layout.slots is None else tf.gather(flat, layout.slots)


def scatter_computed_slots(x: tf.Tensor, layout: Layout) -> tf.Tensor:
    """Return all slots, from [T, H] to [B, S, H], with zeros for those not computed."""
    width = x.shape[-1]
    if layout.real is not None:
        x = tf.where(layout.real[:, tf.newaxis], tf.gather(x, layout.rows), tf.zeros([], x.dtype))
    return tf.reshape(x, [layout.batch, layout.length, width])


def first_rows(layout: Layout) -> tf.Tensor:
    """Return the row in [T, H] of each sequence's first token, int32 [B]."""
    starts = tf.range(layout.batch) * layout.length
    return starts if layout.rows is None else tf.gather(layout.rows, starts)
