"""Token sequences with different lengths in flat arrays, which only batches pad."""

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

    Attributes:
        token_ids: int32 [total].
        segment_ids: int8 [total], 0 or 1.
        offsets: int64 [n + 1], from 0 to total.
    """

    token_ids: np.ndarray
    segment_ids: np.ndarray
    offsets: np.ndarray

    @staticmethod
    def of(token_ids: array, segment_ids: array, offsets: array) -> "RaggedFeatures":
        """Return sequences that share memory with `token_ids`, `segment_ids` and `offsets`.

        The arrays have the type codes i, b and q, and must not grow afterwards.
        """
        # Do not copy: NumPy shares memory with these arrays, which are large for a whole data set.
        return RaggedFeatures(
            np.frombuffer(token_ids, np.int32), np.frombuffer(segment_ids, np.int8), np.frombuffer(offsets, np.int64)
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Return the number of tokens in each sequence, int64 [n]."""
        return np.diff(self.offsets)

    def longest(self, rows: np.ndarray | Sequence[int]) -> int:
        """Return the number of tokens in the longest of these sequences."""
        return int(self.lengths[rows].max())

    def take(self, rows: np.ndarray) -> "RaggedFeatures":
        """Return the sequences at these row numbers, int64 [n], in this order."""
        indices, offsets = take_ranges(self.offsets, rows)
        return RaggedFeatures(self.token_ids[indices], self.segment_ids[indices], offsets)

    def pad(self, rows: np.ndarray | Sequence[int], width: int) -> dict[str, np.ndarray]:
        """Return sequences as int32 [len(rows), width], with zeros after their ends.

        The keys are the model's inputs: input_word_ids, input_mask (1 for a token), input_type_ids.

        Raises:
            ValueError: a sequence is longer than `width`.
        """
        rows = np.asarray(rows, dtype=np.int64)
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts
        # Raise an error instead of cutting: no count would include tokens that are lost here.
        if lengths.size and lengths.max() > width:
            raise ValueError(f"a sequence of {lengths.max()} tokens does not fit into {width}")
        positions = np.arange(width)
        inside = positions < lengths[:, None]
        word_ids = np.zeros(inside.shape, np.int32)
        type_ids = np.zeros(inside.shape, np.int32)
        indices = (starts[:, None] + positions)[inside]
        word_ids[inside] = self.token_ids[indices]
        type_ids[inside] = self.segment_ids[indices]
        return dict(zip(INPUTS, (word_ids, inside.astype(np.int32), type_ids), strict=True))


def take_ranges(offsets: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of these rows' values, row by row, and their new offsets, both int64.

    Row i has the values from offsets[i] to offsets[i + 1].
    """
    lengths = np.diff(offsets)[rows]
    ends = np.cumsum(lengths)
    # Shift one range to each row's start, which needs no loop over rows.
    indices = np.repeat(offsets[rows] - (ends - lengths), lengths) + np.arange(lengths.sum())
    return indices, np.concatenate([[0], ends]).astype(np.int64)


def padded_values(values: np.ndarray, offsets: np.ndarray, rows: np.ndarray, width: int, fill: float) -> np.ndarray:
    """Return rows of flat values [t, …] as [len(rows), width, …], with `fill` after their ends.

    The values are end to end at `offsets`, as in RaggedFeatures.
    """
    indices = offsets[rows][:, None] + np.arange(width)
    inside = indices < offsets[rows + 1][:, None]
    padded = np.full((*inside.shape, *values.shape[1:]), fill, values.dtype)
    padded[inside] = values[indices[inside]]
    return padded


def row_lengths(features: "Features") -> np.ndarray:
    """Return the number of tokens in each row's longest sequence, int64 [rows].

    If rows have windows (`row_starts`), a row's length is the sum over its windows.
    """
    lengths = features.sequences.lengths
    starts = getattr(features, "row_starts", None)
    if starts is not None and len(features):
        # reduceat needs a window per example: for an empty range it returns the next value, not 0.
        return np.add.reduceat(lengths, starts[:-1])
    return lengths.reshape(len(features), -1).max(axis=1) if len(features) else lengths


def sequence_starts(features: "Features") -> np.ndarray:
    """Return int64 [rows + 1]: row i has the sequences starts[i]:starts[i + 1]."""
    starts = getattr(features, "row_starts", None)
    if starts is not None:
        return starts
    sequences_per_row = len(features.sequences) // max(1, len(features))
    return np.arange(len(features) + 1, dtype=np.int64) * sequences_per_row


def with_token_ids(features: Any, token_ids: np.ndarray) -> Any:
    """Return the features with new token ids, int32 [total], in their `sequences`."""
    return dataclasses.replace(features, sequences=dataclasses.replace(features.sequences, token_ids=token_ids))


class BatchSource(Protocol):
    """n rows of training data for any model."""

    def __len__(self) -> int: ...

    def batch(self, rows: np.ndarray, width: int | None = None) -> dict[str, np.ndarray]:
        """Return arrays for these rows, padded to `width` tokens or to the longest sequence."""


class Features(BatchSource, Protocol):
    """Features of any task, for training and prediction."""

    @property
    def sequences(self) -> RaggedFeatures: ...


@dataclass(frozen=True)
class StatedRows:
    """n rows of features together with a frozen encoder's states, float32 [n, …, W]."""

    features: Features
    states: np.ndarray

    def __len__(self) -> int:
        return len(self.features)

    def batch(self, rows: np.ndarray, width: int | None = None) -> dict[str, np.ndarray]:
        """Return the features' columns with `states` instead of tokens (spec.with_states)."""
        batch = self.features.batch(rows, width)
        columns = {name: values for name, values in batch.items() if name not in INPUTS}
        return columns | {INPUT_MASK: batch[INPUT_MASK][..., :1], "states": self.states[rows]}
