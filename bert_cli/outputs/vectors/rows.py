"""Selection of vectors to write: per line, token or word, with layers combined or normalized."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from bert_cli.base.pooling import MAX, NONE, WEIGHTED_SUMS, modes_of
from bert_cli.features.extraction import ExtractionFeatures


@dataclass(frozen=True)
class FeatureRows:
    """Vectors of n lines: r rows with L layers; line i has the rows offsets[i] to offsets[i + 1].

    Attributes:
        first_line: 0-based number of the first line.
        offsets: int64 [n + 1].
        values: float32 [r, L, width].
        columns: lists or arrays [r]. Tokens have `token` and `token_id`; words have `word`, `start`
            and `end`. Empty for one vector per line (r = n).
        identifiers: ids per line, empty if the table has no ids.
    """

    first_line: int
    offsets: np.ndarray
    values: np.ndarray
    columns: dict[str, Any] = field(default_factory=dict)
    identifiers: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def table(self) -> dict[str, Any]:
        """Return the columns with each row's line as linex_index, and its id if there are ids."""
        lines = np.arange(self.first_line, self.first_line + len(self))
        counts = np.diff(self.offsets)
        ids = {"id": np.repeat(np.array(self.identifiers, object), counts)} if self.identifiers else {}
        return {"linex_index": np.repeat(lines, counts), **ids, **self.columns}


@dataclass(frozen=True)
class VectorFormat:
    """Description of the vectors in a file.

    Attributes:
        unit: "line", "token" or "word"; each unit has one vector.
        layers: layers, as the flag names them.
        combined: whether one vector combines all layers.
        width: numbers per vector.
        dtype: dtype used in formats that store it.
        has_ids: whether the lines have ids.
    """

    unit: str
    layers: tuple[int | str, ...]
    combined: bool
    width: int
    dtype: str = "<f4"
    has_ids: bool = False

    @property
    def row_shape(self) -> tuple[int, ...]:
        return (self.width,) if self.combined else (len(self.layers), self.width)

    @property
    def names(self) -> list[str]:
        """Return vector names for formats with columns."""
        return ["vector"] if self.combined else [f"layer_{index}" for index in self.layers]


class Writer(Protocol):
    """A file of features that grows by chunks of lines."""

    def write(self, rows: FeatureRows) -> None: ...

    def finish(self) -> None:
        """Write the file's end if the format uses one."""
        return


def join_windows(vectors: np.ndarray, features: ExtractionFeatures, pooling: str) -> np.ndarray:
    """Combine window vectors [windows, L, W] into line vectors [n, L, W].

    Args:
        vectors: one vector per window; weighted sums for the poolings in WEIGHTED_SUMS.
        features: lines and windows of the chunk.
        pooling: value of --pooling. "max" and weighted sums cover all tokens in a line. "cls" and
            "pooler" average the windows.
    """
    # A line has at least one window and its windows are adjacent, as reduceat needs.
    starts = np.searchsorted(features.window_lines, np.arange(len(features)))
    modes = modes_of(pooling)
    joined = []
    for mode, values in zip(modes, np.split(vectors, len(modes), axis=-1), strict=True):
        if mode == MAX:
            joined.append(np.maximum.reduceat(values, starts))
            continue
        sums = np.add.reduceat(values, starts)
        is_sum = mode in WEIGHTED_SUMS
        totals = features.pooling_totals(mode) if is_sum else np.diff([*starts, len(vectors)]).astype(np.float32)
        joined.append(sums / totals[:, None, None])
    return joined[0] if len(joined) == 1 else np.concatenate(joined, axis=-1)


def combine_layers(vectors: np.ndarray, combine: str) -> np.ndarray:
    """Combine layers [r, L, H] into one vector per row.

    The result is [r, 1, L·H] for "concat", [r, 1, H] for "sum" and "mean", and unchanged for
    "none".
    """
    if combine == "concat":
        return vectors.reshape(len(vectors), 1, vectors.shape[1] * vectors.shape[2])
    if combine == "sum":
        return vectors.sum(axis=1, keepdims=True)
    return vectors.mean(axis=1, keepdims=True) if combine == "mean" else vectors


def normalize(vectors: np.ndarray) -> np.ndarray:
    """Divide every vector by its Euclidean length; zeros stay zeros."""
    lengths = np.sqrt(np.square(vectors).sum(axis=-1, keepdims=True))
    return vectors / np.maximum(lengths, np.finfo(np.float32).tiny)


def word_means(vectors: np.ndarray, features: ExtractionFeatures) -> np.ndarray:
    """Return the mean over each word's pieces, from token vectors [T, L, H] to [words, L, H].

    Raises:
        ValueError: the features have no words.
    """
    if features.words is None:
        raise ValueError("these features were made without words")
    spans = [
        (start + word.first, start + word.last)
        for start, words in zip(features.offsets.tolist(), features.words, strict=False)
        for word in words
    ]
    # Copy single pieces, as most words are. np.add.reduceat would add in another order than mean.
    means = np.empty((len(spans), *vectors.shape[1:]), np.float32)
    for row, (first, last) in enumerate(spans):
        means[row] = vectors[first] if last == first + 1 else vectors[first:last].mean(axis=0)
    return means


def feature_rows(
    vectors: np.ndarray,
    features: ExtractionFeatures,
    pooling: str,
    combine: str,
    finish: Callable[[np.ndarray], np.ndarray],
    convert_ids_to_tokens: Callable[[Sequence[int]], list[str]],
) -> FeatureRows:
    """Return the rows to write for a chunk.

    Args:
        vectors: [T, L, H], or with a pooling [windows, L, W], see join_windows.
        features: lines and windows in the chunk.
        combine: value from COMBINATIONS in settings/answering.
        finish: function from the combined vectors to the final ones, such as `normalize`.
        convert_ids_to_tokens: function from token ids to tokens.
    """
    columns: dict[str, Any] = {}
    if pooling != NONE:
        vectors = join_windows(vectors, features, pooling)
        offsets = np.arange(len(features) + 1)
    elif features.words is not None:
        vectors = word_means(vectors, features)
        words = [word for line in features.words for word in line]
        # Give the dtype, because an empty list would become a float array.
        starts = np.array([word.start for word in words], np.int64)
        ends = np.array([word.end for word in words], np.int64)
        columns = {"word": [word.text for word in words], "start": starts, "end": ends}
        offsets = np.cumsum([0, *map(len, features.words)])
    else:
        offsets = features.offsets
        columns = {"token": convert_ids_to_tokens(features.token_ids.tolist()), "token_id": features.token_ids}
    return FeatureRows(features.first_line, offsets, finish(combine_layers(vectors, combine)), columns)
