"""Vectors of texts from Python, without files:

    from bert_cli import FeatureExtractor
    FeatureExtractor.load("pretrained").extract(["the dog sees a cat .", "a cat sleeps ."])

is a float32 array with a row for each text.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bert_cli.api import loading
from bert_cli.base.errors import InputError
from bert_cli.examples.text_lines import TextLine
from bert_cli.features.extraction import extraction_chunks
from bert_cli.features.layer_choice import parse_layers
from bert_cli.features.packing import check_max_seq_length
from bert_cli.outputs.features_rows import POOLINGS, feature_rows
from bert_cli.runs.features_settings import Settings, define_flags
from bert_cli.training.host import prepare_host


class TokenFeatures(NamedTuple):
    """The t tokens of a text, [CLS] and [SEP] among them, and their vectors, float32 [t, W]."""

    tokens: list[str]
    vectors: np.ndarray


class FeatureExtractor:
    """The encoder of any checkpoint. `width`: W, the numbers of a vector. Made by `load`."""

    def __init__(self, session, tokenizer, settings, width: int):
        self.width = width
        self._session, self._tokenizer, self._settings = session, tokenizer, settings

    @classmethod
    def load(
        cls,
        path: str,
        pooling: str = "mean",
        layers: str = "-1",
        normalize: bool = False,
        max_seq_length: int | None = None,
        long_text: bool = False,
        do_lower_case: bool | None = None,
        precision: str = "float32",
        hub_module: str | None = None,
    ) -> "FeatureExtractor":
        """Load a checkpoint with vocabulary and config beside it.

        pooling: mean, cls, max or pooler for one vector a text, none for one a token. layers: as the flag --layers; W
        is the hidden size times their number, side by side. normalize: divide each vector by its length.
        max_seq_length: in tokens, by default 128; what is longer is cut, or, with long_text, computed in windows that
        overlap by half. precision: auto, float32, bfloat16 or float16. hub_module: the handle of the module that the
        model was trained on, where it is no BERT and does not lie in the model's folder. Raises InputError where
        something is missing, damaged, or does not fit together.
        """
        if pooling not in POOLINGS:
            raise InputError(f"pooling {pooling!r} is not one of {', '.join(POOLINGS)}")
        checkpoint = loading.find(path)
        given = {"pooling": pooling, "layers": layers, "normalize": normalize, "max_seq_length": max_seq_length}
        given |= {"long_text": long_text, "do_lower_case": do_lower_case, "precision": precision}
        given |= {"init_checkpoint": checkpoint.location, "hub_module": hub_module}
        settings, model = loading.open_model(checkpoint, Settings, define_flags, (), given)
        check_max_seq_length(settings.max_seq_length, pairs=long_text)
        chosen = parse_layers(layers, model.config.num_hidden_layers)

        prepare_host()
        from bert_cli.runs.extraction import FeaturesSession

        session = FeaturesSession(
            model.config,
            settings,
            [layer.place for layer in chosen],
            settings.pooling,
            settings.max_seq_length,
            settings.batch_size,
        )
        session.load(checkpoint)
        return cls(session, model.tokenizer, settings, model.config.hidden_size * len(chosen))

    def extract(self, texts: Sequence[str | tuple[str, str]]) -> np.ndarray | list[TokenFeatures]:
        """Vectors of n texts or pairs of texts, in their order: float32 [n, W], or n TokenFeatures where pooling is none."""
        loading.check_list(texts, "extract")
        lines = [_line(number, text) for number, text in enumerate(texts)]
        settings, convert = self._settings, self._tokenizer.convert_ids_to_tokens
        pooled, by_token = [np.zeros((0, self.width), np.float32)], []
        chunks = extraction_chunks(lines, self._tokenizer, settings.max_seq_length, settings.long_text)
        for features in chunks:
            vectors, _ = self._session.extract(features)
            rows = feature_rows(vectors, features, settings.pooling, "concat", settings.normalize, convert)
            values = rows.values[:, 0]
            if settings.pooling != "none":
                pooled.append(values)
                continue
            bounds = itertools.pairwise(rows.offsets.tolist())
            by_token += [TokenFeatures(rows.tokens[start:end], values[start:end]) for start, end in bounds]
        return by_token if settings.pooling == "none" else np.concatenate(pooled)


def _line(number: int, text) -> TextLine:
    first, second = loading.text_pair(number, text)
    return TextLine(number, first.strip(), second if second is None else second.strip())
