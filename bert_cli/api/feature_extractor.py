"""Vectors of texts for Python programs.

   from bert_cli import FeatureExtractor
   FeatureExtractor.load("pretrained").extract(["the dog sees a cat .", "a cat sleeps ."])

returns a float32 array with one row per text.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from bert_cli.api.inputs.argument_errors import check_text, name_arguments_in_errors
from bert_cli.api.inputs.frames import trained_columns
from bert_cli.api.inputs.texts import SINGLE_TEXTS, Pair, read_texts
from bert_cli.api.model_path import find_model
from bert_cli.api.results.attention import Attention
from bert_cli.api.results.vectors import TokenFeatures, TokenVectors, Vectors, make_vectors
from bert_cli.api.saving import SavableModel, with_source
from bert_cli.base.errors import InputError
from bert_cli.examples.text_lines import TextLine
from bert_cli.features.cuts import NOT_CUT, CuttingModel
from bert_cli.features.extraction import extraction_chunks
from bert_cli.features.layer_choice import parse_layers
from bert_cli.features.packing import check_max_seq_length
from bert_cli.inference.pooling import VectorChoice, VectorModel
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.outputs.vectors.rows import FeatureRows, feature_rows
from bert_cli.runs.extraction.lines import open_vector_model
from bert_cli.runs.extraction.plan import chunk_limits
from bert_cli.runs.extraction.shown_attention import encode_text
from bert_cli.runs.loading.bundle import AnyModel
from bert_cli.runs.loading.checkpoints import to_use
from bert_cli.runs.loading.trained import load_with_settings
from bert_cli.settings.groups import LAST_LAYER, Hub, ModelFiles
from bert_cli.settings.texts import POOLINGS, Extraction, ExtractSettings


class FeatureExtractor(SavableModel, CuttingModel):
    """Encoder that turns texts into vectors, made by `load` from any checkpoint.

    Attributes:
        width: W, the length of a vector.
    """

    def __init__(self, vector_model: VectorModel, settings: ExtractSettings, model: AnyModel):
        self._vector_model = vector_model
        self._settings = settings
        self._model = model
        self._columns = trained_columns(model)
        self.width = model.config.hidden_size * len(vector_model.choice.state_indices)

    @classmethod
    @name_arguments_in_errors(init_checkpoint="path")
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
        """Load a checkpoint with vocabulary and config next to it.

        Args:
            path: a checkpoint or an output_dir; None for the built-in model.
            pooling: mean, cls, max or pooler for one vector per text; none for one per token.
            layers: layers as in --layers, or a list of them. Their vectors are concatenated, so W
                is the hidden size times the number of layers.
            normalize: whether to divide each vector by its length.
            max_seq_length: maximum length in tokens, 128 by default; longer texts are cut.
            long_text: whether to compute longer texts in windows that overlap by half, instead of
                cutting them.
            do_lower_case: whether to lower-case texts and strip accents; None to use the model's
                setting.
            precision: auto, float32, bfloat16, float16 or int8.
            engine: auto, tensorflow, onnxruntime or openvino.
            hub_module: a tensorflow-hub module, as a handle. Without `path`, it is the encoder
                itself. Otherwise it is the encoder that the model was trained on, needed if it is
                not a BERT and not in the model's directory.
            hub_preprocess: the module's preprocessor, for vocabulary and casing.

        Raises:
            InputError: if files are missing, damaged or do not belong together.
        """
        layers = ",".join(map(str, layers)) if isinstance(layers, list | tuple) else str(layers)
        flags = {
            "pooling": pooling,
            "layers": layers,
            "normalize": normalize,
            "max_seq_length": max_seq_length,
            "long_text": long_text,
            "do_lower_case": do_lower_case,
            "precision": precision,
            "engine": engine,
            "hub_module": hub_module,
            "hub_preprocess": hub_preprocess,
        }
        if pooling not in POOLINGS:
            raise InputError(f"pooling {pooling!r} is not one of {', '.join(POOLINGS)}")
        if path is None:
            checkpoint = to_use(ModelFiles(), Hub(hub_module=hub_module))
            flags["hub_module"] = None  # already used as the checkpoint
        else:
            checkpoint = find_model(path)
        # Do not use the training run's layers and lengths, which were chosen for another purpose.
        settings, model = load_with_settings(checkpoint, ExtractSettings, flags, remembers=False)
        length = settings.encoding.max_seq_length
        config = model.config
        check_max_seq_length(length, pairs=long_text)
        places = [layer.place for layer in parse_layers(layers, config.num_hidden_layers)]
        choice = VectorChoice(pooling, places, length, settings.devices.batch_size)
        vector_model = open_vector_model(model, settings.devices.for_answers(isinstance(config, BertConfig)), choice)
        vector_model.engine.load(model.required_checkpoint)
        return with_source(cls(vector_model, settings, model), checkpoint, flags)

    @name_arguments_in_errors()
    def extract(self, texts: Iterable[str | tuple[str, str]]) -> Vectors | TokenVectors:
        """Return the vectors of n texts or pairs of texts, in their order.

        Besides the result, only one chunk of texts is in memory.

        Args:
            texts: texts, or pairs (text, text_b), in any sequence; or a table with a column of
                texts, such as a pandas.DataFrame.

        Returns:
            A float32 array [n, W], or a sequence of n TokenFeatures with pooling="none". Both have
            `to_frame`.
        """
        # Check all texts first, because an error after minutes of work would lose the results.
        read = read_texts(texts, columns=self._columns)
        pairs = read.pairs
        if self._settings.extraction.pooling == "none":
            return TokenVectors(read, [features for rows in self._rows(pairs) for features in _tokens(rows)])
        # Fill the array chunk by chunk to avoid a second copy of all vectors.
        vectors = np.empty((len(pairs), self.width), np.float32)
        num_written = 0
        for rows in self._rows(pairs):
            vectors[num_written : num_written + len(rows)] = rows.values[:, 0]
            num_written += len(rows)
        if num_written != len(pairs):
            raise RuntimeError(f"{num_written} of {len(pairs)} texts have a vector")
        return make_vectors(vectors, read)

    @name_arguments_in_errors()
    def count_tokens(self, texts: Iterable[str]) -> list[int]:
        """Return how many tokens of each text the vectors use, including [CLS] and [SEP]."""
        max_length = self._vector_model.choice.max_seq_length
        read = read_texts(texts, SINGLE_TEXTS, self._columns)
        return [min(max_length, len(self._model.tokenizer.encode(text)) + 2) for text in read.singles]

    @name_arguments_in_errors()
    def attention(self, text: str, text_b: str | None = None) -> Attention:
        """Return the attention of all layers and heads in a text or a pair of texts.

        The first call loads the model again, with attention among its outputs.

        Args:
            text: the text; a longer one than `max_seq_length` is cut.
            text_b: the second text of a pair.

        Raises:
            InputError: if the model's files have changed, or a tensorflow-hub module or int8
                computes it.
        """
        check_text(text)
        if text_b is not None:
            check_text(text_b, "text_b")
        line = TextLine(0, text.strip(), None if text_b is None else text_b.strip())
        length = self._vector_model.choice.max_seq_length
        features, tokens = encode_text(line, self._model.tokenizer, length)
        weights = self._attention_model.extract(features)[1][0]
        self.on_cut(features.cuts, length)
        return Attention(text, text_b, self.facts()["model"], tuple(tokens), weights)

    @functools.cached_property
    def _attention_model(self) -> VectorModel:
        """Return the model with attention among its outputs, which makes it slower."""
        if isinstance(self._model.config, ModuleConfig):
            raise InputError(f"{self._model.config.hub_module}: this module shows no attention")
        self.source.check_unchanged()
        choice = dataclasses.replace(self._vector_model.choice, with_attention=True)
        model = open_vector_model(self._model, self._settings.devices.for_answers(True), choice)
        model.engine.load(self._model.required_checkpoint)
        return model

    def _rows(self, pairs: list[Pair]) -> Iterator[FeatureRows]:
        """Yield the vectors chunk by chunk."""
        extraction = self._settings.extraction
        tokenizer = self._model.tokenizer
        convert = tokenizer.convert_ids_to_tokens
        choice = self._vector_model.choice
        limits = chunk_limits(self._model.config, len(choice.state_indices), choice.pooling != "none")
        lines = (
            TextLine(number, text.strip(), None if text_b is None else text_b.strip())
            for number, (text, text_b) in enumerate(pairs)
        )
        chunks = extraction_chunks(lines, tokenizer, choice.max_seq_length, extraction.long_text, **limits)
        cuts = NOT_CUT
        for features in chunks:
            cuts += features.cuts
            vectors, _ = self._vector_model.extract(features)
            # Concatenate the layers: Python callers expect one vector per text.
            yield feature_rows(vectors, features, extraction.pooling, "concat", extraction.normalize, convert)
        self.on_cut(cuts, choice.max_seq_length)


def _tokens(rows: FeatureRows) -> Iterator[TokenFeatures]:
    values = rows.values[:, 0]
    for start, end in itertools.pairwise(rows.offsets.tolist()):
        yield TokenFeatures(rows.columns["token"][start:end], values[start:end])
