"""Token sequences of differing length in flat arrays, padded only when a batch is made; which rows
make up which batch.
"""

import dataclasses
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.spec import INPUT_MASK, INPUTS


@dataclass(frozen=True)
class RaggedFeatures:
    """n token sequences end to end; sequence i is at `offsets[i]:offsets[i + 1]`.

    token_ids    int32 [total]
    segment_ids  int8 [total], 0 or 1
    offsets      int64 [n + 1], from 0 to total
    """

    token_ids: np.ndarray
    segment_ids: np.ndarray
    offsets: np.ndarray

    @staticmethod
    def of(token_ids: array, segment_ids: array, offsets: array) -> "RaggedFeatures":
        """The sequences that arrays of the type codes i, b and q hold; the arrays must not grow any
        more.
        """
        # Without a copy: NumPy reads the memory of the arrays, of which all rows of a data set take
        # a lot.
        return RaggedFeatures(
            np.frombuffer(token_ids, np.int32), np.frombuffer(segment_ids, np.int8), np.frombuffer(offsets, np.int64)
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Tokens in each sequence, int64 [n]."""
        return np.diff(self.offsets)

    def longest(self, rows: np.ndarray | Sequence[int]) -> int:
        """Tokens in the longest of these sequences."""
        return int(self.lengths[rows].max())

    def take(self, rows: np.ndarray) -> "RaggedFeatures":
        """The sequences of the given row numbers, in this order; int64 [n]."""
        indices, offsets = take_ranges(self.offsets, rows)
        return RaggedFeatures(self.token_ids[indices], self.segment_ids[indices], offsets)

    def padded(self, rows: np.ndarray | Sequence[int], width: int) -> dict[str, np.ndarray]:
        """The sequences of the given row numbers as int32 [len(rows), width], zeros after their
        ends.

        The keys are the model's inputs: input_word_ids, input_mask (1 for a token), input_type_ids.
        ValueError where a sequence is longer than `width`.
        """
        rows = np.asarray(rows, dtype=np.int64)
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts
        # An error, not a cut: tokens that are lost here would be in no count.
        if lengths.size and lengths.max() > width:
            raise ValueError(f"a sequence of {lengths.max()} tokens does not fit into {width}")
        positions = np.arange(width)
        inside = positions < lengths[:, None]
        word_ids = np.zeros(inside.shape, np.int32)
        type_ids = np.zeros(inside.shape, np.int32)
        taken = (starts[:, None] + positions)[inside]
        word_ids[inside] = self.token_ids[taken]
        type_ids[inside] = self.segment_ids[taken]
        return dict(zip(INPUTS, (word_ids, inside.astype(np.int32), type_ids), strict=True))


def take_ranges(offsets: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(indices of the values of these rows, one row after the other; the offsets of the taken
    values), both int64.

    Row i has the values from offsets[i] to offsets[i + 1].
    """
    lengths = np.diff(offsets)[rows]
    ends = np.cumsum(lengths)
    # One range for all rows, shifted to where each row begins: no loop over rows.
    indices = np.repeat(offsets[rows] - (ends - lengths), lengths) + np.arange(lengths.sum())
    return indices, np.concatenate([[0], ends]).astype(np.int64)


def padded_values(values: np.ndarray, offsets: np.ndarray, rows: np.ndarray, width: int, fill: float) -> np.ndarray:
    """Rows of any flat values [t, …], which are end to end as in RaggedFeatures -> [len(rows),
    width, …].

    `fill` follows their ends.
    """
    indices = offsets[rows][:, None] + np.arange(width)
    inside = indices < offsets[rows + 1][:, None]
    padded = np.full((*inside.shape, *values.shape[1:]), fill, values.dtype)
    padded[inside] = values[indices[inside]]
    return padded


def row_lengths(features: "Features") -> np.ndarray:
    """Tokens in the longest sequence of each row, int64 [rows], of features of any kind with
    equally many for each row.

    Of rows of windows, which are as many as they are, the tokens of all of them.
    """
    lengths = features.sequences.lengths
    starts = getattr(features, "row_starts", None)
    if starts is not None and len(features):
        # Every example has a window, which reduceat needs: for an empty range it gives the next
        # value, not 0.
        return np.add.reduceat(lengths, starts[:-1])
    return lengths.reshape(len(features), -1).max(axis=1) if len(features) else lengths


def sequence_starts(features: "Features") -> np.ndarray:
    """int64 [rows + 1]: row i has the sequences starts[i]:starts[i + 1]; see row_lengths."""
    starts = getattr(features, "row_starts", None)
    if starts is not None:
        return starts
    each = len(features.sequences) // max(1, len(features))
    return np.arange(len(features) + 1, dtype=np.int64) * each


def with_token_ids(features: Any, token_ids: np.ndarray) -> Any:
    """Features of any kind, with other token ids in their `sequences`: int32 [total]."""
    return dataclasses.replace(features, sequences=dataclasses.replace(features.sequences, token_ids=token_ids))


class Batches(Protocol):
    """n rows of anything that a model is trained on."""

    def __len__(self) -> int: ...

    def batch(self, rows: np.ndarray, width: int | None = None) -> dict[str, np.ndarray]:
        """The arrays of these rows, padded to `width` tokens; None for as many as the longest has."""


class Features(Batches, Protocol):
    """The features of any task, for training and predictions."""

    @property
    def sequences(self) -> RaggedFeatures: ...


@dataclass(frozen=True)
class StatedRows:
    """n rows of features of any kind, with what a frozen encoder says of them: states float32 [n,
    …, W].
    """

    features: Features
    states: np.ndarray

    def __len__(self) -> int:
        return len(self.features)

    def batch(self, rows: np.ndarray, width: int | None = None) -> dict[str, np.ndarray]:
        """The columns of the features but for the tokens, and `states` in their place
        (spec.stated).
        """
        batch = self.features.batch(rows, width)
        others = {name: values for name, values in batch.items() if name not in INPUTS}
        return others | {INPUT_MASK: batch[INPUT_MASK][..., :1], "states": self.states[rows]}


def steps_and_batch(num_examples: int, batch_size: int, num_epochs: float) -> tuple[int, int]:
    """The number of training steps, int(examples / batch_size × epochs) as the original counts, and
    the examples of each.

    Where that is 0 there is one step, of the examples that the epochs have. InputError where there
    is no example, or the number does not fit int32.
    """
    # int() cuts, as in the original: a rest of a batch makes no step.
    steps = int(num_examples / batch_size * num_epochs)
    if steps > np.iinfo(np.int32).max:
        raise InputError(f"--num_train_epochs={num_epochs} makes {steps:.3g} training steps; give a smaller number")
    if steps:
        return steps, batch_size
    seen = int(num_examples * num_epochs)
    if not seen:
        raise InputError(
            f"{num_examples} examples for {num_epochs} epochs make no training step; give a larger --num_train_epochs"
        )
    LOG.warning(
        "warning: %d examples for %g epochs are less than one batch of %d: training has one step of %d examples",
        num_examples, num_epochs, batch_size, seen,
    )  # fmt: skip
    return 1, seen


def epoch_order(num_examples: int, seed: int, epoch: int) -> np.ndarray:
    """The order of one epoch: a full shuffle that depends on seed and epoch alone, int64
    [num_examples].
    """
    # As a pair: with the sum, seed 1 in epoch 2 would be seed 2 in epoch 1.
    return np.random.default_rng([seed, epoch]).permutation(num_examples)


def dealt(lengths: np.ndarray) -> np.ndarray:
    """An order in which each half, and each half of a half, has about the same sum of `lengths`
    [n]; int64 [n].

    So devices that share a batch by its rows have about as many tokens each, whatever their number
    is.
    """

    def deal(order: np.ndarray) -> np.ndarray:
        if len(order) <= 2:
            return order
        goes_first = np.isin(np.arange(len(order)) % 4, (0, 3))  # the longest, then in turn two by two
        return np.concatenate([deal(order[goes_first]), deal(order[~goes_first])])

    return deal(np.argsort(-lengths, kind="stable"))


def training_rows(
    num_examples: int, batch_size: int, seed: int, start_step: int = 0, lengths: np.ndarray | None = None
) -> Iterator[np.ndarray]:
    """Row numbers, int64 [batch_size], of batch `start_step` and all that follow, without end.

    lengths: of all examples, in tokens, for an order within each batch that balances its shares:
    see `dealt`.

    Epochs follow one another without a gap, so a batch may hold the end of one and the start of the
    next, and each example is seen once per epoch. Batch k is the same whatever step the iteration
    starts from.
    """
    position = start_step * batch_size
    # Computed from the step, so that a run that goes on needs no state of its data.
    epoch, taken = divmod(position, num_examples)
    rows = epoch_order(num_examples, seed, epoch)[taken:]
    while True:
        while len(rows) < batch_size:
            epoch += 1
            rows = np.concatenate([rows, epoch_order(num_examples, seed, epoch)])
        chosen = rows[:batch_size]
        yield chosen if lengths is None else chosen[dealt(lengths[chosen])]
        rows = rows[batch_size:]


def length_groups(lengths: np.ndarray, max_tokens: int) -> list[np.ndarray]:
    """Split all rows into groups of similar length, longest first, each of at most `max_tokens`
    tokens with padding.

    For evaluation and prediction, where order does not matter to the result; a row longer than that
    is a group of one. The longest go first so that a lack of memory shows at once.
    """
    # Stable, so that rows of equal length stay in file order and two runs give the same bytes.
    order = np.argsort(-lengths, kind="stable")
    groups = []
    start = 0
    while start < len(order):
        size = max(1, max_tokens // max(1, int(lengths[order[start]])))
        groups.append(order[start : start + size])
        start += size
    return groups


_ENOUGH_TOKENS = 512  # of a batch: more of them at once are computed no faster
# Of a batch: a tenth of its tokens, or as many as the call of a small model costs (measured with 6
# layers of width 384 on two cores: 0.8 ms, and 50 us a token).
_MOST_PADDING, _FEW_TOKENS = 0.1, 16


def similar_length_groups(lengths: np.ndarray, max_tokens: int) -> list[np.ndarray]:
    """As equal_length_groups, but small groups are joined with shorter rows, as far as they need
    little padding.
    """
    order = np.argsort(-lengths, kind="stable")
    descending = lengths[order].tolist()
    groups = []
    start = 0
    while start < len(descending):
        longest = real = descending[start]
        end = start + 1
        most = start + max(1, max_tokens // max(1, longest))
        while end < min(most, len(descending)):
            length = descending[end]
            padding = longest * (end + 1 - start) - real - length
            is_large = length < longest and longest * (end - start) >= _ENOUGH_TOKENS
            if is_large or padding > max(_FEW_TOKENS, _MOST_PADDING * (real + length)):
                break
            real += length
            end += 1
        groups.append(order[start:end])
        start = end
    return groups


def equal_length_groups(lengths: np.ndarray, max_tokens: int) -> list[np.ndarray]:
    """Split all rows into groups of the same length, longest first, each of at most `max_tokens`
    tokens; see length_groups.
    """
    order = np.argsort(-lengths, kind="stable")
    buckets = np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1)
    return [rows[group] for rows in buckets for group in length_groups(lengths[rows], max_tokens)]
