"""Pairs of texts as token sequences, for the training of sentence vectors."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from bert_cli.examples.table_texts import PairRow
from bert_cli.features.packing import CutCounts
from bert_cli.features.ragged import RaggedFeatures


@dataclasses.dataclass(frozen=True)
class TextSequences:
    """Token sequences of texts, and counts of texts that were cut."""

    sequences: RaggedFeatures
    cuts: CutCounts


@dataclasses.dataclass(frozen=True)
class PairFeatures:
    """n rows of K texts: an anchor, its positive, and K - 2 negatives.

    Attributes:
        sequences: n·K token sequences, ordered by row.
        text_ids: int32 [n, K], equal for equal texts. A missing negative repeats the positive with
            its text id.
        scores: float32 [n], similarities; zeros without scores.
        cuts: counts of texts that were cut.
    """

    sequences: RaggedFeatures
    text_ids: np.ndarray
    scores: np.ndarray
    cuts: CutCounts

    def __len__(self) -> int:
        return len(self.scores)

    def take(self, rows: np.ndarray) -> "PairFeatures":
        """Return the rows with these numbers, int64 [n], in this order."""
        sequences = self.sequences.take(self._sequence_numbers(rows))
        return dataclasses.replace(self, sequences=sequences, text_ids=self.text_ids[rows], scores=self.scores[rows])

    def batch(self, rows: np.ndarray, width: int | None = None) -> dict[str, np.ndarray]:
        """Return spec.TEXT_PAIRS for these rows, padded to `width` tokens or the longest text."""
        numbers = self._sequence_numbers(np.asarray(rows))
        inputs = self.sequences.pad(numbers, width or self.sequences.longest(numbers))
        shape = (len(rows), self.text_ids.shape[1], -1)
        shaped = {name: values.reshape(shape) for name, values in inputs.items()}
        return shaped | {"text_ids": self.text_ids[rows], "scores": self.scores[rows]}

    def _sequence_numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the sequence numbers for these rows, int64 [len(rows)·K]."""
        num_texts = self.text_ids.shape[1]
        return (rows[:, np.newaxis] * num_texts + np.arange(num_texts)).reshape(-1)


def pair_features(pairs: Sequence[PairRow], encode: Callable[[Sequence[str]], TextSequences]) -> PairFeatures:
    """Return the features of pairs.

    Args:
        encode: function from texts to their token sequences; it gets each text once.
    """
    num_negatives = max(len(pair.negatives) for pair in pairs)
    # Repeat the positive if a negative is missing: losses leave out texts that are equal to it.
    rows = [
        (pair.text_a, pair.text_b, *pair.negatives, *[pair.text_b] * (num_negatives - len(pair.negatives)))
        for pair in pairs
    ]
    numbers: dict[str, int] = {}
    for row in rows:
        for text in row:
            numbers.setdefault(text, len(numbers))
    encoded = encode(list(numbers))
    text_ids = np.array([[numbers[text] for text in row] for row in rows], np.int32)
    scores = np.array([pair.score or 0.0 for pair in pairs], np.float32)
    return PairFeatures(encoded.sequences.take(text_ids.reshape(-1)), text_ids, scores, encoded.cuts)
