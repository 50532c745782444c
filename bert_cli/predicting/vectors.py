"""Vectors of texts: encoders that are opened for them, and pooling over tokens."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import parse_layers
from bert_cli.examples.text_lines import make_line
from bert_cli.features.extraction import extraction_chunks
from bert_cli.features.packing import NOT_CUT, Cuts, check_max_seq_length
from bert_cli.inference.rows import open_engine
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.opening.bundle import AnyModel
from bert_cli.opening.checks import PairCheck
from bert_cli.outputs.vectors.rows import FeatureRows, feature_rows
from bert_cli.settings.devices import INT8, Devices

if TYPE_CHECKING:
    # It has the flags of all models, which take a tenth of the imports' time.
    from bert_cli.predicting.opening import VectorSettings
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


# Limits for a chunk in memory: lines, and float32 numbers (64 MB).
MAX_LINES = 8192
MAX_NUMBERS = 1 << 24


def open_vector_model(
    model: AnyModel, devices: Devices, choice: VectorChoice, strict: bool = False, many: bool = False
) -> VectorModel:
    """Return a model for vectors without weights, using the chosen engine.

    Args:
        model: the model.
        devices: flags that select engine, devices and precision.
        choice: settings for the vectors.
        strict: whether a conflict is an error instead of a warning.
        many: see inference.rows.open_engine.
    """
    inference = devices.inference
    if inference and choice.with_attention and inference.precision == INT8:
        raise InputError(f"{inference.flag} shows no attention; leave it out")
    engine = open_engine(choice.network, model.config, devices, choice.max_seq_length, many=many)
    return VectorModel(engine, choice, PairCheck(model.config, model.config_name, strict))


def chunk_limits(
    config: BertConfig | ModuleConfig,
    num_layers: int,
    is_pooled: bool,
    with_attention: bool = False,
) -> dict[str, Any]:
    """Return arguments for `extraction_chunks` that limit memory use.

    Args:
        config: the model's config.
        num_layers: number of chosen layers.
        is_pooled: whether vectors are for lines, not tokens.
        with_attention: whether attention is extracted, too.

    Returns:
        max_lines, cost and max_cost. Costs are numbers of float32 values.
    """
    vectors = 0 if is_pooled else num_layers * config.hidden_size
    # The size of attention is quadratic in a line's number of tokens.
    pairs = 0
    if with_attention and isinstance(config, BertConfig):
        pairs = config.num_hidden_layers * config.num_attention_heads

    def cost(tokens: int) -> int:
        return tokens * (vectors + tokens * pairs)

    return {"max_lines": MAX_LINES, "cost": cost, "max_cost": MAX_NUMBERS}


@dataclasses.dataclass(frozen=True)
class TextVectors:
    """An opened encoder for texts in memory.

    Attributes:
        vector_model: the encoder on its engine, with the choice of vectors.
        model: the model's files.
        normalize: whether to divide each vector by its length.
        long_text: whether to compute longer texts in windows, instead of cutting them.
    """

    vector_model: VectorModel
    model: AnyModel
    normalize: bool
    long_text: bool

    @property
    def width(self) -> int:
        """Return W, the length of a vector: the layers are concatenated."""
        return self.model.config.hidden_size * len(self.vector_model.choice.state_indices)

    @property
    def max_seq_length(self) -> int:
        """Return the maximum number of tokens in a text."""
        return self.vector_model.choice.max_seq_length

    def rows(self, pairs: Iterable[tuple[str, str | None]]) -> Iterator[tuple[FeatureRows, Cuts]]:
        """Yield the vectors of texts or pairs, and what was cut, chunk by chunk."""
        tokenizer, choice = self.model.tokenizer, self.vector_model.choice
        limits = chunk_limits(self.model.config, len(choice.state_indices), choice.pooling != "none")
        lines = (make_line(number, *pair) for number, pair in enumerate(pairs))
        convert = tokenizer.convert_ids_to_tokens
        for features in extraction_chunks(lines, tokenizer, self.max_seq_length, self.long_text, **limits):
            vectors, _ = self.vector_model.extract(features)
            # Concatenate the layers, because callers use one vector per text.
            yield feature_rows(vectors, features, choice.pooling, "concat", self.normalize, convert), features.cuts

    def extract(self, pairs: Sequence[tuple[str, str | None]]) -> tuple[np.ndarray, Cuts]:
        """Return one vector per text or pair, float32 [n, W], and what was cut."""
        # Fill the array chunk by chunk to avoid a second copy of all vectors.
        vectors = np.empty((len(pairs), self.width), np.float32)
        num_written, cuts = 0, NOT_CUT
        for rows, chunk_cuts in self.rows(pairs):
            vectors[num_written : num_written + len(rows)] = rows.values[:, 0]
            num_written += len(rows)
            cuts += chunk_cuts
        if num_written != len(pairs):
            raise RuntimeError(f"{num_written} of {len(pairs)} texts have a vector")
        return vectors, cuts

    def count_tokens(self, texts: Iterable[str]) -> list[int]:
        """Return how many tokens of each text the vectors use, including [CLS] and [SEP]."""
        return [min(self.max_seq_length, len(self.model.tokenizer.encode(text)) + 2) for text in texts]


def open_vectors(
    settings: "VectorSettings", model: AnyModel, layers: str, pooling: str, normalize: bool, long_text: bool = False
) -> TextVectors:
    """Return an encoder with its weights.

    Args:
        settings: flags for lengths and devices.
        model: the model's files.
        layers: layers as in --layers.
        pooling: one of settings.texts.POOLINGS.
        normalize, long_text: see TextVectors.

    Raises:
        InputError: if the model lacks a layer, or the sequence length is too short.
    """
    length, config = settings.encoding.max_seq_length, model.config
    check_max_seq_length(length, pairs=long_text)
    places = [layer.place for layer in parse_layers(layers, config.num_hidden_layers)]
    choice = VectorChoice(pooling, places, length, settings.devices.batch_size)
    vector_model = open_vector_model(model, settings.devices.for_answers(isinstance(config, BertConfig)), choice)
    vector_model.engine.load(model.required_checkpoint)
    return TextVectors(vector_model, model, normalize, long_text)
