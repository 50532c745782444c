"""What gives vectors: the interface of an encoder, and an encoder that an inference engine
computes. Imports no TensorFlow.
"""

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

# Of batch after batch: (numbers of the windows, their values float32 [B, L, H], without pooling [B, S, L, H]).
Windows = Iterator[tuple[np.ndarray, np.ndarray]]


@dataclasses.dataclass(frozen=True)
class VectorChoice:
    """What is asked of an encoder.

    pooling: of settings.texts.POOLINGS; places: of the layers, 0 for the embedding, n for the n-th
    Transformer layer; max_seq_length: tokens of a window; batch_size: windows that are computed at
    once; attention: whether it is given, too.
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
    """An encoder that gives vectors: FeaturesSession with TensorFlow, InferenceExtractor with
    another engine.
    """

    precision: str
    choice: VectorChoice
    check_pairs: PairCheck | None = None

    def load(self, checkpoint: CheckpointPath) -> None:
        """Take the weights. InputError where one is missing; the pooler's count only where it is
        asked for.
        """
        raise NotImplementedError

    def batches(self, features: ExtractionFeatures, attention: dict[int, np.ndarray]) -> Windows:
        """The values of all windows. The attention of each one is put into `attention`, where it is
        asked for.
        """
        raise NotImplementedError

    def extract(self, features: ExtractionFeatures) -> tuple[np.ndarray, list[np.ndarray]]:
        """Vectors float32 [T, L, H] of all tokens in their order, or with pooling [windows, L, H]
        (for mean: the sum); and where it was asked for, the attention of each window, float32
        [layers, N, length, length], else an empty list.
        """
        if self.check_pairs:
            self.check_pairs(features.sequences)
        attention: dict[int, np.ndarray] = {}
        vectors: np.ndarray | None = None
        pools = self.choice.pooling != "none"
        sequences = features.sequences
        for rows, values in self.batches(features, attention):
            # Made with the first batch, whose shape gives layers and width.
            if vectors is None:
                count = len(features.sequences) if pools else len(features.token_ids)
                vectors = np.empty((count, *values.shape[-2:]), np.float32)
            if pools:
                vectors[rows] = values
                continue
            for row, window in zip(rows.tolist(), values, strict=True):
                places = features.positions[sequences.offsets[row] : sequences.offsets[row + 1]]
                # Windows overlap; -1 marks a token that counts in another window, where it has more
                # context.
                counts = np.flatnonzero(places >= 0)
                vectors[features.offsets[features.window_lines[row]] + places[counts]] = window[counts]
        assert vectors is not None, "a chunk holds at least one line"
        return vectors, [attention[row] for row in sorted(attention)]


class InferenceExtractor(Extractor):
    """See Extractor."""

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
        self._layers = () if choice.pooling == "pooler" else tuple(choice.places)
        self._max_tokens = min(MAX_TOKENS, choice.tokens)

    def load(self, checkpoint: CheckpointPath) -> None:
        """See Extractor."""
        # Many published encoders come without a pooler.
        optional = POOLER if self._layers else ()
        tensors, _, _ = load_tensors(
            checkpoint, encoder_shapes(self._config), optional, "it is not the model of this config"
        )
        self._network = self._engine.encoder(self.precision, tensors, self._config, self._layers, self.choice.attention)

    def batches(self, features: ExtractionFeatures, attention: dict[int, np.ndarray]) -> Windows:
        sequences = features.sequences
        lengths = sequences.lengths
        groups = equal_length_groups if self.choice.attention else similar_length_groups
        for rows in groups(lengths, self._max_tokens):
            width = int(lengths[rows[0]])
            found = self._network(sequences.padded(rows, width))
            if self.choice.attention:
                layers = [found[f"attention_{number}"] for number in range(self._config.num_hidden_layers)]
                attention |= dict(zip(rows.tolist(), np.stack(layers, axis=1), strict=True))
            if self._layers:
                states = [found[f"state_{number}"] for number in range(len(self._layers))]
                yield rows, self._pooled(states, features.counted(rows, width))
            else:
                yield rows, found["pooled_output"][:, np.newaxis]

    def _pooled(self, states: list[np.ndarray], counted: np.ndarray) -> np.ndarray:
        """states: L of float32 [B, S, H]; counted: int32 [B, S] -> [B, L, H], without pooling [B,
        S, L, H].
        """
        if self.choice.pooling == "mean":
            # The sum, not the mean: a line may have several windows, and is divided once by all of
            # its tokens.
            weights = counted.astype(np.float32)[:, np.newaxis]  # [B, 1, S]
            return np.concatenate([weights @ state for state in states], axis=1)
        if self.choice.pooling == "max":
            real = counted[:, :, np.newaxis] > 0
            # A window without a counted token must not win with a zero.
            states = [np.where(real, state, -np.inf).max(axis=1) for state in states]
            return np.stack(states, axis=1)
        if self.choice.pooling == "cls":
            return np.stack([state[:, 0] for state in states], axis=1)
        return np.stack(states, axis=2)
