"""Vectors of texts: an encoder's layers, pooled over tokens or token by token."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from bert_cli.features.extraction import ExtractionFeatures
from bert_cli.inference.engine import POOLED, Arrays, Engine, Layers
from bert_cli.inference.rows import Check, run_sequences


@dataclasses.dataclass(frozen=True)
class VectorChoice:
    """Settings that determine the extracted vectors.

    Attributes:
        pooling: one of settings.texts.POOLINGS.
        state_indices: 0 for the embedding, n for the n-th Transformer layer.
        max_seq_length: maximum number of tokens in a window.
        batch_size: number of windows per batch.
        with_attention: whether to extract attention, too.
    """

    pooling: str
    state_indices: Sequence[int]
    max_seq_length: int
    batch_size: int
    with_attention: bool = False

    @property
    def network(self) -> Layers:
        """Return the part of the encoder that the vectors need."""
        indices = () if self.pooling == "pooler" else tuple(self.state_indices)
        return Layers(indices, self.with_attention)


@dataclasses.dataclass(frozen=True)
class VectorModel:
    """An encoder on its engine, and the vectors that it computes.

    Attributes:
        engine: engine for choice.network.
        choice: settings for the vectors.
        check_pairs: check of second texts.
    """

    engine: Engine
    choice: VectorChoice
    check_pairs: Check

    def extract(self, features: ExtractionFeatures) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return vectors and attention.

        Returns:
            vectors: float32 [T, L, H] for all tokens in order. With pooling, float32
                [windows, L, H]; mean pooling returns sums here.
            attention: float32 [layers, N, length, length] per window, or an empty list if
                choice.with_attention is False.
        """
        sequences, choice = features.sequences, self.choice
        self.check_pairs(sequences)
        attention: dict[int, np.ndarray] = {}
        vectors: np.ndarray | None = None
        for rows, outputs in run_sequences(self.engine, sequences, choice.batch_size * choice.max_seq_length):
            if choice.with_attention:
                attention |= _attention_of_rows(outputs, rows, sequences.lengths)
            values = self._pool(outputs, features, rows)
            # Allocate with the first batch, which has the number of layers and the width.
            if vectors is None:
                count = len(features.token_ids) if choice.pooling == "none" else len(sequences)
                vectors = np.empty((count, *values.shape[-2:]), np.float32)
            if choice.pooling == "none":
                _put_tokens(vectors, values, features, rows)
            else:
                vectors[rows] = values
        assert vectors is not None, "a chunk holds at least one line"
        return vectors, [attention[row] for row in sorted(attention)]

    def _pool(self, outputs: Arrays, features: ExtractionFeatures, rows: np.ndarray) -> np.ndarray:
        """Return a batch's vectors, float32 [B, L, H], or [B, S, L, H] without pooling."""
        if self.choice.pooling == "pooler":
            return outputs[POOLED][:, np.newaxis]
        states = [outputs[f"state_{number}"] for number in range(len(self.choice.state_indices))]
        return pool(states, features.pooling_mask(rows, states[0].shape[1]), self.choice.pooling)


def pool(states: Sequence[np.ndarray], mask: np.ndarray, pooling: str) -> np.ndarray:
    """Return pooled states, float32 [B, L, H], or [B, S, L, H] without pooling.

    Args:
        states: L arrays, float32 [B, S, H].
        mask: 1 for tokens that pooling uses, int32 [B, S].
        pooling: mean, max, cls or none.
    """
    if pooling == "mean":
        # Sum here and divide later: a line may have several windows.
        weights = mask.astype(np.float32)[:, np.newaxis]  # [B, 1, S]
        return np.concatenate([weights @ state for state in states], axis=1)
    if pooling == "max":
        is_counted = mask[:, :, np.newaxis] > 0
        # Use -inf, so that a window without such tokens does not contribute zeros.
        return np.stack([np.where(is_counted, state, -np.inf).max(axis=1) for state in states], axis=1)
    if pooling == "cls":
        return np.stack([state[:, 0] for state in states], axis=1)
    return np.stack(states, axis=2)


def _put_tokens(vectors: np.ndarray, values: np.ndarray, features: ExtractionFeatures, rows: np.ndarray) -> None:
    """Write the windows' tokens into the vectors of all tokens.

    Args:
        vectors: float32 [T, L, H].
        values: float32 [B, S, L, H].
        features: the windows.
        rows: window numbers of the batch, [B].
    """
    offsets = features.sequences.offsets
    for row, window in zip(rows.tolist(), values, strict=True):
        positions = features.positions[offsets[row] : offsets[row + 1]]
        # Skip tokens with -1: windows overlap, and they have more context in another one.
        counted = np.flatnonzero(positions >= 0)
        vectors[features.offsets[features.window_lines[row]] + positions[counted]] = window[counted]


def _attention_of_rows(outputs: Arrays, rows: np.ndarray, lengths: np.ndarray) -> dict[int, np.ndarray]:
    """Return the attention of each window by its number, float32 [layers, N, length, length]."""
    num_layers = sum(name.startswith("attention_") for name in outputs)
    layers = np.stack([outputs[f"attention_{number}"] for number in range(num_layers)], axis=1)
    # Copy, because a slice would keep the whole batch in memory.
    return {
        row: window[..., : lengths[row], : lengths[row]].copy()
        for row, window in zip(rows.tolist(), layers, strict=True)
    }
