"""Vectors of tokens or windows -> the vectors that are asked for: of lines, tokens or words, layers
combined, normalized.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from bert_cli.features.extraction import ExtractionFeatures


@dataclass(frozen=True)
class FeatureRows:
    """Vectors of n lines, r rows of L layers; line i has the rows offsets[i] to offsets[i + 1].

    Attributes:
        first_line: 0-based number of the first line.
        offsets: int64 [n + 1].
        values: float32 [r, L, width].
        columns: lists or arrays [r]; `token` and `token_id` of tokens; `word`, `start` and `end` of
            words; empty for one vector per line, when r = n.
        identifiers: ids of the n lines of a table that has ids, else empty.
    """

    first_line: int
    offsets: np.ndarray
    values: np.ndarray
    columns: dict[str, Any] = field(default_factory=dict)
    identifiers: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def table(self) -> dict[str, Any]:
        """Return the columns, with the line of each row as linex_index, and its id if there are ids."""
        lines = np.arange(self.first_line, self.first_line + len(self))
        counts = np.diff(self.offsets)
        ids = {"id": np.repeat(np.array(self.identifiers, object), counts)} if self.identifiers else {}
        return {"linex_index": np.repeat(lines, counts), **ids, **self.columns}


@dataclass(frozen=True)
class VectorFormat:
    """The vectors of a file.

    Attributes:
        unit: "line", "token" or "word": one vector for each.
        layers: layers, as the flag names them.
        combined: whether one vector holds all layers.
        width: numbers in a vector.
        dtype: of the numbers, in formats that store it.
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
        """Of the vectors, in formats with columns."""
        return ["vector"] if self.combined else [f"layer_{index}" for index in self.layers]


class Writer(Protocol):
    """A file of features that grows by chunks of lines."""

    def write(self, rows: FeatureRows) -> None: ...

    def finish(self) -> None:
        """Write what follows the last line, where the format has such a thing."""
        return


def join_windows(vectors: np.ndarray, features: ExtractionFeatures, pooling: str) -> np.ndarray:
    """Vectors [windows, L, H] of windows -> [n, L, H] of lines.

    "mean" (of sums) and "max" are those over all tokens of the line; of "cls" and "pooler" windows
    are averaged.
    """
    # The windows of a line follow each other, and each line has one at least, as reduceat needs it.
    starts = np.searchsorted(features.window_lines, np.arange(len(features)))
    if pooling == "max":
        return np.maximum.reduceat(vectors, starts)
    sums = np.add.reduceat(vectors, starts)
    counts = np.diff(features.offsets) if pooling == "mean" else np.diff([*starts, len(vectors)])
    return sums / counts.astype(np.float32)[:, None, None]


def combine_layers(vectors: np.ndarray, combine: str) -> np.ndarray:
    """[r, L, H] -> one vector a row: [r, 1, L·H] for "concat", [r, 1, H] for "sum" and "mean"; as
    it is for "none".
    """
    if combine == "concat":
        return vectors.reshape(len(vectors), 1, vectors.shape[1] * vectors.shape[2])
    if combine == "sum":
        return vectors.sum(axis=1, keepdims=True)
    return vectors.mean(axis=1, keepdims=True) if combine == "mean" else vectors


def normalize(vectors: np.ndarray) -> np.ndarray:
    """Every vector divided by its Euclidean length; zeros stay zeros."""
    lengths = np.sqrt(np.square(vectors).sum(axis=-1, keepdims=True))
    return vectors / np.maximum(lengths, np.finfo(np.float32).tiny)


def word_means(vectors: np.ndarray, features: ExtractionFeatures) -> np.ndarray:
    """Vectors [T, L, H] of tokens -> the mean over the pieces of each word, [words, L, H].
    ValueError without words.
    """
    if features.words is None:
        raise ValueError("these features were made without words")
    spans = [
        (start + word.first, start + word.last)
        for start, words in zip(features.offsets.tolist(), features.words, strict=False)
        for word in words
    ]
    # Most words are one piece, which is copied; np.add.reduceat would add in another order than
    # mean.
    means = np.empty((len(spans), *vectors.shape[1:]), np.float32)
    for row, (first, last) in enumerate(spans):
        means[row] = vectors[first] if last == first + 1 else vectors[first:last].mean(axis=0)
    return means


def feature_rows(
    vectors: np.ndarray,
    features: ExtractionFeatures,
    pooling: str,
    combine: str,
    normalized: bool,
    convert_ids_to_tokens: Callable[[Sequence[int]], list[str]],
) -> FeatureRows:
    """What is to be written of a chunk. vectors: [T, L, H], or with a pooling [windows, L, H] (for
    "mean": sums).

    pooling, combine: of POOLINGS and COMBINATIONS in settings/texts.py.
    """
    columns: dict[str, Any] = {}
    if pooling != "none":
        vectors = join_windows(vectors, features, pooling)
        offsets = np.arange(len(features) + 1)
    elif features.words is not None:
        vectors = word_means(vectors, features)
        words = [word for line in features.words for word in line]
        # With a dtype, as an empty list would become an array of floats.
        starts = np.array([word.start for word in words], np.int64)
        ends = np.array([word.end for word in words], np.int64)
        columns = {"word": [word.text for word in words], "start": starts, "end": ends}
        offsets = np.cumsum([0, *map(len, features.words)])
    else:
        offsets = features.offsets
        columns = {"token": convert_ids_to_tokens(features.token_ids.tolist()), "token_id": features.token_ids}
    vectors = combine_layers(vectors, combine)
    if normalized:
        vectors = normalize(vectors)
    return FeatureRows(features.first_line, offsets, vectors, columns)
