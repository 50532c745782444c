"""Where the tokens of a batch lie: all B·S slots, or only the real ones, packed one after the
other.

Everything in BERT but attention works token by token, so padding needs no computing at all: the T
real tokens of a batch are kept as rows of one matrix, and only attention spreads them out to [B, N,
S, D]. The result at real tokens equals the padded computation, in which padded keys get a
probability of exactly 0 (exp(-10000) in float32).

In training, where a batch holds texts of any length, attention over the shorter ones is computed
apart from the longer ones (two length buckets), so that short sequences are not padded to the
longest. Predictions have batches of similar length.

Letters: B batch, S sequence, T computed tokens, H hidden, N heads, D head width.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from bert_cli.model.config import MASKED_SCORE
from bert_cli.model.ops import traced_once

# Each new shape of a product costs milliseconds before it is computed, as code is made for it. So
# the sizes that differ from batch to batch are multiples of these: ROWS of numbers below 512, twice
# as many below 1,024, four times below 2,048 and so on.
ROWS, WIDTHS = 16, 8
_DOUBLINGS = tuple(512 << power for power in range(16))


class LengthBucket(NamedTuple):
    """Sequences over which attention is computed at once: B_g of them, S_g tokens at most. T·N:
    rows by head.
    """

    rows: tf.Tensor | None  # int32 [B_g, N, S_g]: the row of T·N for each slot
    real: tf.Tensor | None  # bool [B_g, 1, S_g, 1]: False where the slot is padding
    key_bias: tf.Tensor  # float32 [B_g, 1, 1, S_g]: 0 for a real key, -10000 for a padded one
    first: tf.Tensor | None  # for ops.dropout: sequences of this bucket in the shards before; None for one shard


class HeadRows(NamedTuple):
    """Between rows of D numbers [T·N, D] and [B_g, N, S_g, D] of each bucket; flat, one bucket
    after the other.

    A dense layout has one bucket, without rows and real, and no to_rows.
    """

    buckets: tuple[LengthBucket, ...]
    to_rows: tf.Tensor | None  # int32 [T, N]: the slot of each row


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """Index arrays of one batch, made once for all layers. A dense layout has no slots, rows and
    real, and T = B·S.
    """

    batch: tf.Tensor | int  # B
    length: tf.Tensor | int  # S
    slots: tf.Tensor | None  # int32 [T]: flat slot b·S+s of each computed token, ascending
    rows: tf.Tensor | None  # int32 [B·S]: the computed token of each slot; 0 where the slot is padding
    real: tf.Tensor | None  # bool [B·S]: False where the slot is padding
    whole: HeadRows  # for attention over all sequences together
    bucketed: HeadRows  # for attention over a longer and a shorter bucket; `whole` where that is not asked for


def _sizes(mask: tf.Tensor) -> tuple:
    static = mask.shape
    dynamic = tf.shape(mask)
    return tuple(static[i] if static[i] is not None else dynamic[i] for i in range(2))


def dense_layout(mask: tf.Tensor) -> Layout:
    """Compute every slot, padding included, as the original does. mask: int32 [B, S]."""
    batch, length = _sizes(mask)
    key_bias = (1.0 - tf.cast(mask, tf.float32))[:, tf.newaxis, tf.newaxis, :] * MASKED_SCORE
    whole = HeadRows((LengthBucket(None, None, key_bias, None),), None)
    return Layout(batch, length, None, None, None, whole, whole)


def packed_layout(
    mask: tf.Tensor, heads: int, is_trained: bool = False, bucketed: bool = False, shard: tf.Tensor | None = None
) -> Layout:
    """Compute only slots whose mask is 1, and the first of each row (the pooler reads it). mask:
    int32 [B, S]; heads: N.

    The widths of attention are multiples of WIDTHS. Rows that nothing reads follow the T tokens, so
    that T is a multiple of ROWS. is_trained: their gradient must be 0, so there are none where no
    padded slot is. bucketed: attention over the shorter sequences is computed on its own. shard: of
    a shard of a batch, the third and following numbers of its seed, see ops.dropout.
    """
    return Layout(*_sizes(mask), *_packed_tables(mask, heads, is_trained, bucketed, shard))


@traced_once
def _packed_tables(
    mask: tf.Tensor, heads: int, is_trained: bool, bucketed: bool, shard: tf.Tensor | None
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, HeadRows, HeadRows]:
    """Slots, rows, real, whole and bucketed of a packed Layout."""
    batch, length = _sizes(mask)
    width = _rounded(length, WIDTHS)
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
        short = _rounded(bound, WIDTHS)
        bucket_widths = tf.where(is_longer, width, short)
    else:
        bucket_widths = tf.broadcast_to(width, [batch])

    # The slot after the end of a sequence: attention reads nothing of it, and so it has no
    # gradient. Without one it is the slot of a token, whose row is made once more. One more number
    # each, as a batch, or the shard of a batch, may have no sequences.
    ends, bucket_ends = tf.pad(widths, [[0, 1]]), tf.pad(bucket_widths, [[0, 1]])
    spare = tf.argmax(bucket_ends - ends, output_type=tf.int32)
    tokens = tf.size(sequence)
    end = ends[spare]
    multiple = tf.bitwise.left_shift(ROWS, tf.reduce_sum(tf.cast(tokens >= tf.constant(_DOUBLINGS), tf.int32)))
    is_spare = bucket_ends[spare] > end
    lacking = -tokens % multiple
    if is_trained:
        lacking = tf.where(is_spare, lacking, 0)
    slots = tf.concat([sequence * length + position, tf.fill([lacking], spare * length)], axis=0)
    sequence = tf.concat([sequence, tf.fill([lacking], spare)], axis=0)
    position = tf.concat([position, tf.fill([lacking], tf.where(is_spare, end, 0))], axis=0)

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
        starts = tf.gather(_starts(is_longer, bucket_widths, heads), sequence)
        own = tf.gather(bucket_widths, sequence)
        bucketed_rows = HeadRows(
            buckets, tf.expand_dims(starts + position, 1) + tf.expand_dims(own, 1) * tf.range(heads)
        )
    rows, real = (tf.reshape(table[:, :length], [-1]) for table in (tables.rows, tables.real))
    return slots, rows, real, whole, bucketed_rows


class _Tables(NamedTuple):
    """Of all sequences, with the width W of the longest: what LengthBucket has."""

    rows: tf.Tensor  # int32 [B, W]: the computed token
    real: tf.Tensor  # bool [B, W]
    key_bias: tf.Tensor  # float32 [B, W]
    heads: int

    def bucket(
        self, first: tf.Tensor | None, chosen: tf.Tensor | None = None, width: tf.Tensor | None = None
    ) -> LengthBucket:
        """Of the `chosen` sequences, int32 [B_g], None for all, up to a `width`, None for W."""
        tables: Sequence[tf.Tensor] = self[:3]
        if width is not None:
            tables = [table[:, :width] for table in tables]
        if chosen is not None:
            tables = [tf.gather(table, chosen) for table in tables]
        rows, real, key_bias = (tf.expand_dims(table, 1) for table in tables)
        heads = tf.expand_dims(tf.range(self.heads), 1)
        return LengthBucket(rows * self.heads + heads, tf.expand_dims(real, 3), tf.expand_dims(key_bias, 1), first)


def _starts(is_longer: tf.Tensor, widths: tf.Tensor, heads: int) -> tf.Tensor:
    """The first slot of each sequence, int32 [B], where all longer ones come first; widths: of
    their buckets, int32 [B].
    """
    slots = widths * heads
    longer, shorter = (tf.where(chosen, slots, 0) for chosen in (is_longer, tf.logical_not(is_longer)))
    after = tf.reduce_sum(longer) + tf.cumsum(shorter, exclusive=True)
    return tf.where(is_longer, tf.cumsum(longer, exclusive=True), after)


def _rounded(count: tf.Tensor | int, multiple: int) -> tf.Tensor | int:
    """The next multiple that is not below."""
    # Floor division of the negative number rounds up, and works on tensors, too.
    return -(-count // multiple) * multiple


def widths_of(mask: tf.Tensor) -> tf.Tensor:
    """Up to which slot each sequence is computed: int32 [B, S] -> int32 [B]."""
    # At least 1: the pooler reads the first slot of a row without a real token, too.
    return tf.maximum(tf.reduce_max(tf.where(mask > 0, tf.range(1, tf.shape(mask)[1] + 1), 0), axis=1), 1)


def short_width(widths: tf.Tensor) -> tf.Tensor:
    """The width of the shorter bucket with which attention has the fewest pairs of slots: int32 [B]
    -> int32.
    """
    widths = tf.sort(widths, direction="DESCENDING")
    longer = tf.range(tf.size(widths))  # how many remain if sequences up to this width go
    pairs = longer * widths[0] ** 2 + (tf.size(widths) - longer) * widths**2
    return widths[tf.argmin(pairs, output_type=tf.int32)]


def first_token(seed: tf.Tensor | None, layout: Layout) -> tf.Tensor | None:
    """For ops.dropout of rows of tokens: which of all shards' tokens the first one is; None for one
    shard.
    """
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
