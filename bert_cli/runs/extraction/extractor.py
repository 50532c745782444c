"""What gives vectors: the part of an encoder that has nothing to do with what computes it. Imports no TensorFlow."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from bert_cli.features.extraction import ExtractionFeatures
from bert_cli.weights.path import CheckpointPath


@dataclasses.dataclass(frozen=True)
class VectorChoice:
    """What is asked of an encoder.

    pooling: of settings.tools.POOLINGS; places: of the layers, 0 for the embedding, n for the n-th Transformer layer;
    max_seq_length: tokens of a window; batch_size: windows of so many tokens that are computed at once; attention: whether
    it is given, too.
    """

    pooling: str
    places: Sequence[int]
    max_seq_length: int
    batch_size: int
    attention: bool = False

    @property
    def tokens(self) -> int:
        """That are computed at once."""
        return self.batch_size * self.max_seq_length


class Extractor:
    """An encoder that gives vectors: FeaturesSession with TensorFlow, OnnxFeatures with onnxruntime."""

    precision: str
    choice: VectorChoice

    def load(self, checkpoint: CheckpointPath) -> None:
        """Take the weights. InputError where one is missing; the pooler's count only where it is asked for."""
        raise NotImplementedError

    def batches(
        self, features: ExtractionFeatures, attention: dict[int, np.ndarray]
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(windows, values) of batches; values: float32 [B, L, H], without pooling [B, S, L, H].

        The attention of each window is put into `attention`, where it is asked for.
        """
        raise NotImplementedError

    def extract(self, features: ExtractionFeatures) -> tuple[np.ndarray, list[np.ndarray]]:
        """Vectors float32 [T, L, H] of all tokens in their order, or with pooling [windows, L, H] (for mean: the sum); and
        where it was asked for, the attention of each window, float32 [layers, N, length, length], else an empty list.
        """
        attention: dict[int, np.ndarray] = {}
        vectors: np.ndarray | None = None
        pools = self.choice.pooling != "none"
        for rows, values in self.batches(features, attention):
            if vectors is None:
                count = len(features.sequences) if pools else len(features.token_ids)
                vectors = np.empty((count, *values.shape[-2:]), np.float32)
            if pools:
                vectors[rows] = values
            else:
                _put_tokens(vectors, values, rows, features)
        assert vectors is not None, "a chunk holds at least one line"
        return vectors, [attention[row] for row in sorted(attention)]


def _put_tokens(vectors: np.ndarray, values: np.ndarray, rows: np.ndarray, features: ExtractionFeatures) -> None:
    """Copy values [B, S, L, H] of the windows `rows` to where the tokens count: `vectors` [T, L, H]."""
    sequences = features.sequences
    for row, window in zip(rows.tolist(), values, strict=True):
        places = features.positions[sequences.offsets[row] : sequences.offsets[row + 1]]
        counts = np.flatnonzero(places >= 0)
        vectors[features.offsets[features.window_lines[row]] + places[counts]] = window[counts]
