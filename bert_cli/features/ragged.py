"""Token sequences of differing length in flat arrays, padded only when a batch is made."""

import dataclasses
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

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
