"""The extractor interface, and its implementation for inference engines."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from bert_cli.base.head_types import POOLER
from bert_cli.engines.engine import Inference
from bert_cli.features.extraction import ExtractionFeatures
from bert_cli.features.row_batches import equal_length_groups, similar_length_groups
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.model.shapes import encoder_shapes
from bert_cli.onnx.session import Runner
from bert_cli.runs.engine.inference_session import MAX_TOKENS, load_tensors, require_bert_config
from bert_cli.runs.loading.checks import PairCheck
from bert_cli.weights.path import CheckpointPath

# Per batch: window indices, and their values, float32 [B, L, H], or [B, S, L, H] without pooling.
Windows = Iterator[tuple[np.ndarray, np.ndarray]]


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
    def tokens(self) -> int:
        """Return the maximum number of tokens per batch."""
        return self.batch_size * self.max_seq_length


class Extractor:
    """An encoder that computes vectors.

    FeaturesSession uses TensorFlow, and InferenceExtractor uses another engine.

    Attributes:
        precision: dtype for the computation.
        choice: settings for the vectors.
        check_pairs: check of second texts, or None.
    """

    precision: str
    choice: VectorChoice
    check_pairs: PairCheck | None = None

    def load(self, checkpoint: CheckpointPath) -> None:
        """Load the weights; raise InputError if one is missing that the vectors need."""
        raise NotImplementedError

    def batches(self, features: ExtractionFeatures, attention: dict[int, np.ndarray]) -> Windows:
        """Yield the values for all windows, batch by batch.

        Args:
            features: windows of token ids.
            attention: receives each window's attention by its index, if choice.with_attention.
        """
        raise NotImplementedError

    def extract(self, features: ExtractionFeatures) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return vectors and attention.

        Returns:
            vectors: float32 [T, L, H] for all tokens in order. With pooling, float32
                [windows, L, H]; mean pooling returns sums here.
            attention: float32 [layers, N, length, length] per window, or an empty list if
                choice.with_attention is False.
        """
        if self.check_pairs:
            self.check_pairs(features.sequences)
        attention: dict[int, np.ndarray] = {}
        vectors: np.ndarray | None = None
        has_pooling = self.choice.pooling != "none"
        sequences = features.sequences
        for rows, values in self.batches(features, attention):
            # Allocate with the first batch, which has the number of layers and the width.
            if vectors is None:
                count = len(features.sequences) if has_pooling else len(features.token_ids)
                vectors = np.empty((count, *values.shape[-2:]), np.float32)
            if has_pooling:
                vectors[rows] = values
                continue
            for row, window in zip(rows.tolist(), values, strict=True):
                positions = features.positions[sequences.offsets[row] : sequences.offsets[row + 1]]
                # Skip tokens with -1: windows overlap, and they have more context in another one.
                counted = np.flatnonzero(positions >= 0)
                vectors[features.offsets[features.window_lines[row]] + positions[counted]] = window[counted]
        assert vectors is not None, "a chunk holds at least one line"
        return vectors, [attention[row] for row in sorted(attention)]


class InferenceExtractor(Extractor):
    """Extractor that uses an inference engine instead of TensorFlow."""

    _network: Runner

    def __init__(
        self,
        config: BertConfig | ModuleConfig,
        inference: Inference,
        choice: VectorChoice,
        check_pairs: PairCheck,
    ):
        self.check_pairs = check_pairs
        self._config = require_bert_config(config, inference)
        self._engine = inference.engine
        self.precision = inference.precision
        self.choice = choice
        self._layers = () if choice.pooling == "pooler" else tuple(choice.state_indices)
        self._max_tokens = min(MAX_TOKENS, choice.tokens)

    def load(self, checkpoint: CheckpointPath) -> None:
        """Load the weights (see Extractor.load)."""
        # The pooler may be missing, as in many published encoders.
        optional = POOLER if self._layers else ()
        tensors, _, _ = load_tensors(
            checkpoint, encoder_shapes(self._config), optional, "it is not the model of this config"
        )
        self._network = self._engine.encoder(
            self.precision, tensors, self._config, self._layers, self.choice.with_attention
        )

    def batches(self, features: ExtractionFeatures, attention: dict[int, np.ndarray]) -> Windows:
        """Yield the values for all windows (see Extractor.batches)."""
        sequences = features.sequences
        lengths = sequences.lengths
        groups = equal_length_groups if self.choice.with_attention else similar_length_groups
        for rows in groups(lengths, self._max_tokens):
            width = int(lengths[rows[0]])
            outputs = self._network(sequences.pad(rows, width))
            if self.choice.with_attention:
                layers = [outputs[f"attention_{number}"] for number in range(self._config.num_hidden_layers)]
                attention |= dict(zip(rows.tolist(), np.stack(layers, axis=1), strict=True))
            if self._layers:
                states = [outputs[f"state_{number}"] for number in range(len(self._layers))]
                yield rows, self._pool(states, features.pooling_mask(rows, width))
            else:
                yield rows, outputs["pooled_output"][:, np.newaxis]

    def _pool(self, states: list[np.ndarray], mask: np.ndarray) -> np.ndarray:
        """Return pooled states, float32 [B, L, H], or [B, S, L, H] without pooling.

        Args:
            states: L arrays, float32 [B, S, H].
            mask: 1 for tokens that pooling uses, int32 [B, S].
        """
        if self.choice.pooling == "mean":
            # Sum here and divide later: a line may have several windows.
            weights = mask.astype(np.float32)[:, np.newaxis]  # [B, 1, S]
            return np.concatenate([weights @ state for state in states], axis=1)
        if self.choice.pooling == "max":
            is_counted = mask[:, :, np.newaxis] > 0
            # Use -inf, so that a window without such tokens does not contribute zeros.
            states = [np.where(is_counted, state, -np.inf).max(axis=1) for state in states]
            return np.stack(states, axis=1)
        if self.choice.pooling == "cls":
            return np.stack([state[:, 0] for state in states], axis=1)
        return np.stack(states, axis=2)
