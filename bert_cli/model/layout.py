"""Where the tokens of a batch lie: all B·S slots, or only the real ones, packed one after the other.

Everything in BERT but attention works token by token, so padding needs no computing at all: the T real tokens of a
batch are kept as rows of one matrix, and only attention spreads them out to [B, N, S, D]. The result at real tokens
equals the padded computation, whose padded keys get a probability of exactly 0 (exp(-10000) in float32).

In training, where a batch holds texts of any length, attention over the shorter ones goes apart from that over the longer
ones, so that their squares are not those of the longest. Predictions have batches of like length.

Letters: B batch, S sequence, T computed tokens, H hidden, N heads, D head width.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from bert_cli.model.config import MASKED_SCORE

# Each new shape of a product costs milliseconds before it is computed, as code is made for it. So the sizes that differ from
# batch to batch are multiples of these: ROWS of numbers below 512, twice as many below 1,024, four times below 2,048 and so on.
ROWS, WIDTHS = 16, 8
_DOUBLINGS = tuple(512 << power for power in range(16))


class Group(NamedTuple):
    """Sequences over which attention is computed together: B_g of them, S_g tokens at most. T·N rows are those of heads."""

    rows: tf.Tensor | None  # int32 [B_g, N, S_g]: the row of T·N for each place
    real: tf.Tensor | None  # bool [B_g, 1, S_g, 1]: False where the place is padding
    key_bias: tf.Tensor  # float32 [B_g, 1, 1, S_g], as that of the layout
    first: tf.Tensor | None  # for ops.dropout: how many sequences of this group other shares have before; None for none


class Places(NamedTuple):
    """Between rows of D numbers [T·N, D] and [B_g, N, S_g, D] of each group; flat, one group behind the other.

    A dense layout has one group, without rows and real, and no to_rows.
    """

    groups: tuple[Group, ...]
    to_rows: tf.Tensor | None  # int32 [T, N]: the place of each row


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """Index arrays of one batch, made once for all layers. A dense layout has no slots, rows and real, and T = B·S."""

    batch: tf.Tensor | int  # B
    length: tf.Tensor | int  # S
    key_bias: tf.Tensor  # float32 [B, 1, 1, S]: 0 for a real key, -10000 for a padded one
    slots: tf.Tensor | None  # int32 [T]: flat slot b·S+s of each computed token, ascending
    rows: tf.Tensor | None  # int32 [B·S]: the computed token of each slot; 0 where the slot is padding
    real: tf.Tensor | None  # bool [B·S]: False where the slot is padding
    whole: Places  # for attention over all sequences together
    apart: Places  # for attention over the longer and the shorter ones; `whole` where that is not asked for


def _sizes(mask: tf.Tensor) -> tuple:
    static, dynamic = mask.shape, tf.shape(mask)
    return tuple(static[i] if static[i] is not None else dynamic[i] for i in range(2))


def dense_layout(mask: tf.Tensor) -> Layout:
    """Compute every slot, padding included, as the original does. mask: int32 [B, S]."""
    batch, length = _sizes(mask)
    key_bias = (1.0 - tf.cast(mask, tf.float32))[:, tf.newaxis, tf.newaxis, :] * MASKED_SCORE
    whole = Places((Group(None, None, key_bias, None),), None)
    return Layout(batch, length, key_bias, None, None, None, whole, whole)


def packed_layout(
    mask: tf.Tensor, heads: int, is_trained: bool = False, apart: bool = False, share: tf.Tensor | None = None
) -> Layout:
    """Compute only slots whose mask is 1, and the first of each row (the pooler reads it). mask: int32 [B, S]; heads: N.

    The widths of attention are multiples of WIDTHS. Behind the rows of T tokens stand so many more that T is a multiple of
    ROWS; nothing reads them. is_trained: their gradient must be 0, so there are none where no padded place is. apart:
    attention over the shorter sequences goes apart. share: of a share of a batch, what stands behind the first two numbers of
    its seed, see ops.dropout.
    """
    dense = dense_layout(mask)
    first = tf.one_hot(0, dense.length, on_value=True, off_value=False, dtype=tf.bool)[tf.newaxis, :]  # [1, S]
    real = tf.reshape(tf.logical_or(mask > 0, first), [-1])
    slots = tf.cast(tf.where(real)[:, 0], tf.int32)
    rows = tf.maximum(tf.cumsum(tf.cast(real, tf.int32)) - 1, 0)
    rows = tf.where(real, rows, 0)

    widths, width = widths_of(mask), _rounded(dense.length, WIDTHS)
    groups = whole = [(tf.range(dense.batch), width, None if share is None else share[0])]
    group_widths = tf.fill([dense.batch], width)
    if apart:
        bound = short_width(widths) if share is None else share[2]
        longer, shorter = (tf.cast(tf.where(chosen)[:, 0], tf.int32) for chosen in (widths > bound, widths <= bound))
        before = (None, None) if share is None else (share[0] - share[3], share[3])
        short = _rounded(bound, WIDTHS)
        groups = [(longer, width, before[0]), (shorter, short, before[1])]
        group_widths = tf.where(widths > bound, width, short)

    # The place behind the end of a sequence: attention reads nothing of it, and so it has no gradient. Without one it is the
    # place of a token, whose row is made once more.
    spare = tf.argmax(group_widths - widths, output_type=tf.int32)
    tokens = tf.size(slots)
    multiple = tf.bitwise.left_shift(ROWS, tf.reduce_sum(tf.cast(tokens >= tf.constant(_DOUBLINGS), tf.int32)))
    is_spare = group_widths[spare] > widths[spare]
    lacking = -tokens % multiple
    if is_trained:
        lacking = tf.where(is_spare, lacking, 0)
    behind = tf.where(is_spare, widths[spare], 0)
    sequence = tf.concat([slots // dense.length, tf.fill([lacking], spare)], axis=0)
    position = tf.concat([slots % dense.length, tf.fill([lacking], behind)], axis=0)
    slots = tf.concat([slots, tf.fill([lacking], spare * dense.length)], axis=0)
    layout = dataclasses.replace(dense, slots=slots, rows=rows, real=real)
    made = _places(layout, (sequence, position), heads, whole)
    return dataclasses.replace(
        layout, whole=made, apart=_places(layout, (sequence, position), heads, groups) if apart else made
    )


def _rounded(count: tf.Tensor | int, multiple: int) -> tf.Tensor | int:
    """The next multiple that is not below."""
    return -(-count // multiple) * multiple


def widths_of(mask: tf.Tensor) -> tf.Tensor:
    """Up to which slot each sequence is computed: int32 [B, S] -> int32 [B]."""
    return tf.maximum(tf.reduce_max(tf.where(mask > 0, tf.range(1, tf.shape(mask)[1] + 1), 0), axis=1), 1)


def short_width(widths: tf.Tensor) -> tf.Tensor:
    """The width up to which sequences go apart, so that attention has the fewest pairs of slots: int32 [B] -> int32."""
    widths = tf.sort(widths, direction="DESCENDING")
    longer = tf.range(tf.size(widths))  # how many stay behind if those of this width and below go
    pairs = longer * widths[0] ** 2 + (tf.size(widths) - longer) * widths**2
    return widths[tf.argmin(pairs, output_type=tf.int32)]


def _places(layout: Layout, at: tuple[tf.Tensor, tf.Tensor], heads: int, groups: Sequence[tuple]) -> Places:
    """at: sequence and position of each row, int32 [T]. groups: of each the numbers of its sequences, int32 [B_g], its width
    S_g, and Group.first.
    """
    head, shape = tf.range(heads), [layout.batch, layout.length]
    widest = [[0, 0], [0, groups[0][1] - layout.length]]
    rows = tf.pad(tf.reshape(layout.rows, shape), widest)
    real = tf.pad(tf.reshape(layout.real, shape), widest)
    key_bias = tf.pad(layout.key_bias[:, 0, 0], widest, constant_values=MASKED_SCORE)
    found, start = [], tf.constant(0)
    starts, widths = tf.zeros([layout.batch], tf.int32), tf.zeros([layout.batch], tf.int32)  # of each sequence
    for chosen, width, first in groups:
        own_rows, own_real, own_bias = (tf.gather(table[:, :width], chosen) for table in (rows, real, key_bias))
        own_rows = own_rows[:, tf.newaxis] * heads + head[:, tf.newaxis]
        own_bias = own_bias[:, tf.newaxis, tf.newaxis]
        found.append(Group(own_rows, own_real[:, tf.newaxis, :, tf.newaxis], own_bias, first))
        count = tf.size(chosen)
        own_starts = start + tf.range(count) * (heads * width)
        starts = tf.tensor_scatter_nd_update(starts, chosen[:, tf.newaxis], own_starts)
        widths = tf.tensor_scatter_nd_update(widths, chosen[:, tf.newaxis], tf.fill([count], width))
        start += count * heads * width
    sequence, position = at
    starts, widths = tf.gather(starts, sequence), tf.gather(widths, sequence)  # [T]
    return Places(tuple(found), (starts + position)[:, tf.newaxis] + widths[:, tf.newaxis] * head)


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
