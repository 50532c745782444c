"""Vectors of texts: encoders that are opened for them, and pooling over tokens."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import parse_layers
from bert_cli.base.pooling import NONE, POOLER
from bert_cli.examples.text_lines import make_line
from bert_cli.features.packing import NOT_CUT, CutCounts
from bert_cli.inference.rows import open_trained
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.opening.bundle import AnyModel
from bert_cli.opening.checks import PairCheck
from bert_cli.outputs.vectors.rows import FeatureRows, feature_rows
from bert_cli.predicting.pooling import pool, pooled_width
from bert_cli.predicting.vector_recipe import VectorRecipe
from bert_cli.settings.devices import INT8, Devices

if TYPE_CHECKING:
    # It has the flags of all models, which take a tenth of the imports' time.
    from bert_cli.predicting.opening import VectorSettings
from bert_cli.features.extraction import ExtractionFeatures
from bert_cli.inference.engine import POOLED, Arrays, EncoderNetwork, Engine
from bert_cli.inference.rows import Check, run_sequences


@dataclasses.dataclass(frozen=True)
class VectorChoice:
    """Settings that determine the extracted vectors.

    Attributes:
        pooling: value of --pooling.
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
    def network(self) -> EncoderNetwork:
        """Return the part of the encoder that the vectors need."""
        indices = () if self.pooling == POOLER else tuple(self.state_indices)
        return EncoderNetwork(indices, self.with_attention)


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
                [windows, L, W]; weighted poolings return sums here.
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
                count = len(features.token_ids) if choice.pooling == NONE else len(sequences)
                vectors = np.empty((count, *values.shape[-2:]), np.float32)
            if choice.pooling == NONE:
                _put_tokens(vectors, values, features, rows)
            else:
                vectors[rows] = values
        assert vectors is not None, "a chunk holds at least one line"
        return vectors, [attention[row] for row in sorted(attention)]

    def _pool(self, outputs: Arrays, features: ExtractionFeatures, rows: np.ndarray) -> np.ndarray:
        """Return a batch's vectors, float32 [B, L, W], or [B, S, L, H] without pooling."""
        if self.choice.pooling == POOLER:
            return outputs[POOLED][:, np.newaxis]
        states = [outputs[f"state_{number}"] for number in range(len(self.choice.state_indices))]
        width = states[0].shape[1]
        weigh = lambda mode: features.pooling_weights(mode, rows, width)  # noqa: E731
        return pool(states, weigh, features.first_used(rows), self.choice.pooling)


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
    model: AnyModel,
    devices: Devices,
    choice: VectorChoice,
    strict: bool = False,
    many: bool = False,
    in_background: bool = False,
) -> VectorModel:
    """Return a model for vectors with its weights, using the chosen engine.

    Args:
        devices: flags that select engine, devices and precision.
        choice: settings for the vectors.
        strict: whether a conflict is an error instead of a warning.
        many, in_background: see inference.rows.open_trained.

    Raises:
        InputError: if the model lacks a layer.
    """
    inference = devices.inference
    if inference and choice.with_attention and inference.precision == INT8:
        raise InputError(f"{inference.flag} shows no attention; leave it out")
    network, checkpoint, length = choice.network, model.required_checkpoint, choice.max_seq_length
    opened = open_trained(network, model.config, checkpoint, devices, length, None, many, in_background)
    return VectorModel(opened.engine, choice, PairCheck(model.config, model.config_name, strict))


def chunk_limits(
    config: BertConfig | ModuleConfig,
    num_layers: int,
    is_pooled: bool,
    with_attention: bool = False,
) -> dict[str, Any]:
    """Return arguments for `extraction_chunks` that limit memory use.

    Args:
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


class ExtractedTexts(NamedTuple):
    """Vectors of texts or pairs.

    Attributes:
        vectors: float32 [n, W].
        num_tokens: tokens that each vector uses, with [CLS], [SEP] and the prompt; int64 [n].
        num_cut: tokens that were cut from each text; int64 [n].
        cuts: counts of cut texts.
    """

    vectors: np.ndarray
    num_tokens: np.ndarray
    num_cut: np.ndarray
    cuts: CutCounts


@dataclasses.dataclass(frozen=True)
class TextVectors:
    """An opened encoder for texts in memory.

    Attributes:
        vector_model: the encoder on its engine, with the choice of vectors.
        model: the model's files.
        recipe: the steps before and after the encoder.
    """

    vector_model: VectorModel
    model: AnyModel
    recipe: VectorRecipe

    @property
    def width(self) -> int:
        """Return W, the length of a vector: layers and poolings are concatenated."""
        choice = self.vector_model.choice
        return self.recipe.width(pooled_width(choice.pooling, len(choice.state_indices), self.model.config.hidden_size))

    @property
    def max_seq_length(self) -> int:
        """Return the maximum number of tokens in a text."""
        return self.vector_model.choice.max_seq_length

    def rows(
        self, pairs: Iterable[tuple[str, str | None]], prompt_name: str | None = None
    ) -> Iterator[tuple[FeatureRows, ExtractionFeatures]]:
        """Yield the vectors of texts or pairs, and their features, chunk by chunk.

        Args:
            pairs: texts, each with a second text or None.
            prompt_name: the prompt before each text; None for the recipe's.
        """
        recipe = self.recipe.with_prompt(prompt_name)
        tokenizer, choice = self.model.tokenizer, self.vector_model.choice
        limits = chunk_limits(self.model.config, len(choice.state_indices), choice.pooling != NONE)
        lines = (make_line(number, *pair) for number, pair in enumerate(pairs))
        convert = tokenizer.convert_ids_to_tokens
        for features in recipe.chunks(lines, tokenizer, **limits):
            vectors, _ = self.vector_model.extract(features)
            # Concatenate the layers, because callers use one vector per text.
            yield feature_rows(vectors, features, choice.pooling, "concat", recipe.finish, convert), features

    def extract(self, pairs: Sequence[tuple[str, str | None]], prompt_name: str | None = None) -> ExtractedTexts:
        """Return one vector per text or pair; see `rows`."""
        # Fill the array chunk by chunk to avoid a second copy of all vectors.
        vectors = np.empty((len(pairs), self.width), np.float32)
        num_tokens, num_cut = np.empty((2, len(pairs)), np.int64)
        num_written, cuts = 0, NOT_CUT
        for rows, features in self.rows(pairs, prompt_name):
            chunk = slice(num_written, num_written + len(rows))
            vectors[chunk] = rows.values[:, 0]
            num_tokens[chunk], num_cut[chunk] = np.diff(features.offsets), features.num_cut
            num_written += len(rows)
            cuts += features.cuts
        if num_written != len(pairs):
            raise RuntimeError(f"{num_written} of {len(pairs)} texts have a vector")
        return ExtractedTexts(vectors, num_tokens, num_cut, cuts)

    def count_tokens(self, texts: Iterable[str]) -> list[int]:
        """Return how many tokens of each text its vector uses, with [CLS], [SEP] and the prompt."""
        encode = self.model.tokenizer.encode
        lengths = [len(encode(self.recipe.prepare(text))) + 2 for text in texts]
        return lengths if self.recipe.long_text else [min(self.max_seq_length, length) for length in lengths]


def open_vectors(settings: "VectorSettings", model: AnyModel, recipe: VectorRecipe) -> TextVectors:
    """Return an encoder with its weights.

    Args:
        settings: flags for devices.
        model: the model's files.
        recipe: the vectors to compute.

    Raises:
        InputError: if the model lacks a layer.
    """
    config = model.config
    layer_indices = [layer.place for layer in parse_layers(recipe.layers, config.num_hidden_layers)]
    choice = VectorChoice(recipe.pooling, layer_indices, recipe.max_seq_length, settings.devices.batch_size)
    vector_model = open_vector_model(model, settings.devices.for_answers(isinstance(config, BertConfig)), choice)
    return TextVectors(vector_model, model, recipe)
