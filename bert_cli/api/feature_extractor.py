"""Vectors of texts from Python, without files:

    from bert_cli import FeatureExtractor
    FeatureExtractor.load("pretrained").extract(["the dog sees a cat .", "a cat sleeps ."])

is a float32 array with a row for each text.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bert_cli.api import loading
from bert_cli.api.arguments import named_arguments
from bert_cli.api.texts import single_texts, texts_or_pairs
from bert_cli.base.errors import InputError
from bert_cli.examples.text_lines import TextLine
from bert_cli.features.cuts import NOT_CUT
from bert_cli.features.extraction import extraction_chunks
from bert_cli.features.layer_choice import parse_layers
from bert_cli.features.packing import check_max_seq_length
from bert_cli.model.config import BertConfig
from bert_cli.outputs.vectors.rows import FeatureRows, feature_rows
from bert_cli.runs.extraction.extractor import Extractor, VectorChoice
from bert_cli.runs.extraction.lines import open_extractor
from bert_cli.runs.extraction.plan import chunk_limits
from bert_cli.runs.loading.bundle import AnyModel
from bert_cli.runs.loading.checkpoints import encoder_checkpoint
from bert_cli.runs.loading.trained import load_with_settings
from bert_cli.settings.groups import LAST_LAYER, ModelFiles
from bert_cli.settings.texts import POOLINGS, Extraction, ExtractSettings


class TokenFeatures(NamedTuple):
    """The t tokens of a text, [CLS] and [SEP] among them, and their vectors, float32 [t, W]."""

    tokens: list[str]
    vectors: np.ndarray


class FeatureExtractor(loading.Cutting):
    """The encoder of any checkpoint. `width`: W, the numbers of a vector. Made by `load`."""

    def __init__(self, session: Extractor, settings: ExtractSettings, model: AnyModel):
        self._session = session
        self._settings = settings
        self._model = model
        self.width = model.config.hidden_size * len(session.choice.state_indices)

    @classmethod
    @named_arguments(init_checkpoint="path")
    def load(
        cls,
        path: str | None = None,
        pooling: str = "mean",
        layers: str | int | Sequence[int | str] = LAST_LAYER,
        normalize: bool = Extraction.normalize,
        max_seq_length: int | None = None,
        long_text: bool = Extraction.long_text,
        do_lower_case: bool | None = None,
        precision: str = ExtractSettings().devices.precision,
        engine: str = ExtractSettings().devices.engine,
        hub_module: str | None = None,
        hub_preprocess: str | None = None,
    ) -> "FeatureExtractor":
        """Load a checkpoint with vocabulary and config next to it; by default the pre-trained model
        in the box.

        pooling: mean, cls, max or pooler for one vector a text, none for one a token. layers: as
        the flag --layers, or a list of its parts; W is the hidden size times their number, side by
        side. normalize: divide each vector by its length. max_seq_length: in tokens, by default
        128; longer texts are cut, or, with long_text, computed in windows that overlap by half.
        precision: auto, float32, bfloat16, float16 or int8. engine: auto, tensorflow, onnxruntime
        or openvino. hub_module: the handle of a module for tensorflow-hub: the encoder itself where
        path is None, else the encoder that the model was trained on, where it is not a BERT and
        does not lie in the model's folder. hub_preprocess: the preprocessor that belongs to the
        module, for vocabulary and casing. Raises InputError where something is missing, damaged, or
        does not fit together.
        """
        layers = ",".join(map(str, layers)) if isinstance(layers, list | tuple) else str(layers)
        given = loading.flags_of(locals())
        if pooling not in POOLINGS:
            raise InputError(f"pooling {pooling!r} is not one of {', '.join(POOLINGS)}")
        if path is None:
            checkpoint = encoder_checkpoint(ModelFiles(), hub_module)
            given["hub_module"] = None  # it is the checkpoint itself
        else:
            checkpoint = loading.find(path)
        # What the training run had (layers, lengths) is about another use of the encoder.
        settings, model = load_with_settings(checkpoint, ExtractSettings, given, remembers=False)
        length = settings.encoding.max_seq_length
        config = model.config
        check_max_seq_length(length, pairs=long_text)
        places = [layer.place for layer in parse_layers(layers, config.num_hidden_layers)]
        choice = VectorChoice(pooling, places, length, settings.devices.batch_size)
        session = open_extractor(model, settings.devices.for_answers(isinstance(config, BertConfig)), choice)
        session.load(checkpoint)
        return cls(session, settings, model)

    @named_arguments()
    def extract(self, texts: Iterable[str | tuple[str, str]]) -> np.ndarray | list[TokenFeatures]:
        """Vectors of n texts or pairs of texts, in their order: float32 [n, W], or n TokenFeatures
        where pooling is none.

        In addition, memory holds no more than one chunk of texts, as in bert-extract-features.
        """
        # Check all texts first: an error after minutes of work would lose it.
        pairs = texts_or_pairs(texts)
        if self._settings.extraction.pooling == "none":
            return [features for rows in self._rows(pairs) for features in _tokens(rows)]
        # Filled chunk by chunk, so that no second copy of all vectors is held.
        vectors = np.empty((len(pairs), self.width), np.float32)
        num_written = 0
        for rows in self._rows(pairs):
            vectors[num_written : num_written + len(rows)] = rows.values[:, 0]
            num_written += len(rows)
        if num_written != len(pairs):
            raise RuntimeError(f"{num_written} of {len(pairs)} texts have a vector")
        return vectors

    @named_arguments()
    def count_tokens(self, texts: Iterable[str]) -> list[int]:
        """The tokens of each text that a vector is made of, with [CLS] and [SEP]."""
        most = self._session.choice.max_seq_length
        return [min(most, len(self._model.tokenizer.encode(text)) + 2) for text in single_texts(texts)]

    def _rows(self, pairs: list[tuple[str, str | None]]) -> Iterator[FeatureRows]:
        """Yield the vectors of one chunk of texts after the other."""
        extraction = self._settings.extraction
        tokenizer = self._model.tokenizer
        convert = tokenizer.convert_ids_to_tokens
        choice = self._session.choice
        limits = chunk_limits(self._model.config, len(choice.state_indices), choice.pooling != "none")
        lines = (
            TextLine(number, text.strip(), None if text_b is None else text_b.strip())
            for number, (text, text_b) in enumerate(pairs)
        )
        chunks = extraction_chunks(lines, tokenizer, choice.max_seq_length, extraction.long_text, **limits)
        cuts = NOT_CUT
        for features in chunks:
            cuts += features.cuts
            vectors, _ = self._session.extract(features)
            # Layers side by side: one vector a text is what callers of Python work with.
            yield feature_rows(vectors, features, extraction.pooling, "concat", extraction.normalize, convert)
        self.on_cut(cuts, choice.max_seq_length)


def _tokens(rows: FeatureRows) -> Iterator[TokenFeatures]:
    values = rows.values[:, 0]
    for start, end in itertools.pairwise(rows.offsets.tolist()):
        yield TokenFeatures(rows.columns["token"][start:end], values[start:end])
