"""A Keras 3 layer that turns texts into encoder inputs."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from bert_cli.api.inputs.model_path import find_model
from bert_cli.api.inputs.texts import list_items
from bert_cli.base.errors import InputError, InputTypeError, name_arguments_in_errors
from bert_cli.base.spec import INPUTS
from bert_cli.exports.text_graph import GraphTokenizer
from bert_cli.exports.text_packing import pack_batch
from bert_cli.features.packing import check_max_seq_length
from bert_cli.flags.paths import path_text
from bert_cli.opening.loader import load_model
from bert_cli.runtime.process import refuse_lost_tensorflow
from bert_cli.settings.groups import ModelFiles
from bert_cli.text.tokenizer_files import read_settings
from bert_cli.text.vocabulary import CLS, LOOKED_UP, SEP, Vocabulary, padding_id
from bert_cli.tf_internals.keras_layers import mark_built

_VOCABULARY = "vocabulary.json"  # among the assets in a .keras file


@keras.saving.register_keras_serializable(package="bert_cli")
class Tokens:
    """A vocabulary in a layer's config: a copied layer gets the tokens, and a file does not.

    A .keras file has them among its assets. Keras prints a config in errors, with all tokens in it.
    """

    def __init__(self, tokens: Sequence[str] = ()):
        self.tokens = tuple(tokens)

    def get_config(self) -> dict[str, Any]:
        """Return an empty config for files."""
        return {}


@keras.saving.register_keras_serializable(package="bert_cli")
class Preprocessor(keras.layers.Layer):
    """Tokenizer layer: string [B] to a dict of int32 [B, max_seq_length].

    The dict is the input of an Encoder or a tensorflow-hub module. A list of two string tensors is
    a batch of text pairs. The token ids equal the commands' ids. Texts that are too long are
    cut, the longer text of a pair first. A .keras file has the vocabulary among its assets.
    """

    def __init__(
        self,
        vocabulary: Sequence[str] | Tokens,
        do_lower_case: bool = True,
        max_seq_length: int = 128,
        tokenizer: Mapping[str, Any] | None = None,
        **options: Any,
    ):
        """Make the layer.

        Args:
            vocabulary: tokens ordered by id; without tokens, `load_assets` adds them.
            do_lower_case: whether to lower-case text.
            max_seq_length: tokens per row, including [CLS] and [SEP].
            tokenizer: other settings, with the keys of tokenizer_config.json.
            **options: arguments for keras.layers.Layer.
        """
        super().__init__(**options)
        check_max_seq_length(max_seq_length, pairs=False)
        if not isinstance(do_lower_case, bool | np.bool_):
            raise InputTypeError(f"do_lower_case={do_lower_case!r:.40}: True or False is needed")
        self.vocabulary = list(vocabulary.tokens if isinstance(vocabulary, Tokens) else vocabulary)
        self.do_lower_case = do_lower_case
        self.max_seq_length = max_seq_length
        self._settings = read_settings(tokenizer or {}, "tokenizer")
        self.supports_jit = False
        self._tokenizer: GraphTokenizer | None = None
        if self.vocabulary or not isinstance(vocabulary, Tokens):
            self._use_vocabulary()
        mark_built(self)

    def _use_vocabulary(self) -> None:
        ids = {token: number for number, token in enumerate(self.vocabulary)}
        missing = [token for token in LOOKED_UP if token not in ids]
        if missing:
            raise InputError(f"vocabulary: has no {', '.join(missing)}; a vocabulary of a BERT is needed")
        self._cls_id, self._sep_id, self._pad_id = ids[CLS], ids[SEP], padding_id(ids)
        checked_vocabulary = Vocabulary(ids, self.vocabulary, len(ids), "vocabulary")
        self._tokenizer = GraphTokenizer(checked_vocabulary, self.do_lower_case, settings=self._settings)

    @classmethod
    @name_arguments_in_errors(absent=None, init_checkpoint="path")
    def load(
        cls,
        path: str | os.PathLike | None = None,
        max_seq_length: int = 128,
        do_lower_case: bool | None = None,
        vocab_file: str | os.PathLike | None = None,
        **options: Any,
    ) -> "Preprocessor":
        """Return a layer with a model's vocabulary and casing.

        Args:
            path: see `Encoder.load`.
            max_seq_length: tokens per row, including [CLS] and [SEP].
            do_lower_case: whether to lower-case text; None uses the setting in the model's files.
            vocab_file: vocabulary, vocab.txt or tokenizer.json; None for the model's.
            **options: arguments for keras.layers.Layer.
        """
        vocabulary = None if vocab_file is None else path_text(vocab_file, "vocab_file")
        flags = ModelFiles(vocab_file=vocabulary, do_lower_case=do_lower_case)
        model = load_model(flags, find_model(path), None, needs_bert=True)
        max_positions = model.config.max_position_embeddings
        if max_seq_length > max_positions:
            raise InputError(
                f"max_seq_length={max_seq_length}: the model has {max_positions} positions; give at most {max_positions}"
            )
        settings = model.tokenizer_settings.values()
        return cls(model.vocabulary.tokens, model.do_lower_case, max_seq_length, settings or None, **options)

    def __call__(self, inputs: Any, *arguments: Any, **options: Any) -> Any:
        """Call the layer with a tensor, array or list of texts, or with a list of two for pairs."""
        refuse_lost_tensorflow()
        # Keras layers accept only tensors.
        return super().__call__(_to_tensors(inputs), *arguments, **options)

    def call(self, inputs: Any) -> dict[str, tf.Tensor]:
        """Return the encoder inputs for `inputs`, see the class."""
        tokenizer = self._tokenizer
        if tokenizer is None:
            raise InputError(f"{self.name}: has no vocabulary, as only a whole .keras file stores it")
        texts = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
        ids = [tokenizer.pieces(tf.reshape(batch, [-1])).merge_dims(-2, -1) for batch in texts]
        packed = pack_batch(
            ids[0], ids[1] if len(ids) > 1 else None, self.max_seq_length, self._cls_id, self._sep_id, self._pad_id
        )
        padding = [[0, 0], [0, self.max_seq_length - tf.shape(packed[INPUTS[0]])[1]]]
        pad_values = {INPUTS[0]: self._pad_id}
        return {
            name: tf.ensure_shape(
                tf.pad(values, padding, constant_values=pad_values.get(name, 0)), [None, self.max_seq_length]
            )
            for name, values in packed.items()
        }

    def compute_output_spec(self, inputs: Any) -> dict[str, keras.KerasTensor]:
        """Return the outputs of `call` as KerasTensors."""
        first = inputs[0] if isinstance(inputs, list | tuple) else inputs
        return {name: keras.KerasTensor((first.shape[0], self.max_seq_length), dtype="int32") for name in INPUTS}

    def save_assets(self, dir_path: str) -> None:
        """Write the vocabulary into a directory in a .keras file."""
        with open(os.path.join(dir_path, _VOCABULARY), "w", encoding="utf-8") as file:
            json.dump(self.vocabulary, file, ensure_ascii=False)

    def load_assets(self, dir_path: str) -> None:
        """Read the vocabulary from a directory in a .keras file."""
        with open(os.path.join(dir_path, _VOCABULARY), encoding="utf-8") as file:
            self.vocabulary = list(json.load(file))
        self._use_vocabulary()

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Preprocessor":
        """Return a layer for a config, which has no tokens if it comes from a file."""
        vocabulary = config.get("vocabulary")
        return cls(**config | {"vocabulary": Tokens() if isinstance(vocabulary, Mapping) else vocabulary})

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that `from_config` needs."""
        arguments = {name: getattr(self, name) for name in ("do_lower_case", "max_seq_length")}
        settings = self._settings.values()
        arguments |= {"tokenizer": settings} if settings else {}
        return super().get_config() | arguments | {"vocabulary": Tokens(self.vocabulary)}


def _to_tensors(texts: Any) -> Any:
    """Return texts as a string tensor, or pairs as a list of two string tensors."""
    if _is_tensor(texts):
        return _to_string_tensor("texts", texts)
    items = list_items("texts", texts)
    if any(
        isinstance(item, tuple) and len(item) == 2 and all(isinstance(text, str) for text in item) for item in items
    ):
        # Elsewhere, such an item is a pair. As one of two
        # columns, it would be two first or second texts.
        raise InputTypeError(
            "texts: the layer takes pairs as two columns, found a tuple of two texts; pass [texts, others], "
            "such as list(map(list, zip(*pairs)))"
        )
    is_text = [isinstance(item, str | bytes) for item in items]
    if len(items) == 2 and not any(is_text):
        return [_to_string_tensor(f"texts[{number}]", item) for number, item in enumerate(items)]
    return _to_string_tensor("texts", items)


def _is_tensor(texts: Any) -> bool:
    is_array = isinstance(texts, np.ndarray) and texts.ndim != 1
    return is_array or tf.is_tensor(texts) or isinstance(texts, keras.KerasTensor | str | bytes)


def _to_string_tensor(name: str, texts: Any) -> Any:
    """Return a string tensor, or raise InputTypeError if the texts are not one column."""
    if not _is_tensor(texts):
        texts = list_items(name, texts)
        for number, text in enumerate(texts):
            if not isinstance(text, str | bytes):
                problem = f"{name}[{number}]: a text is needed, found {text!r:.80}"
                raise InputTypeError(f"{problem}; pairs are two lists: [texts, others]")
    if not isinstance(texts, keras.KerasTensor):
        # TensorFlow does not accept NumPy's fixed-width strings.
        texts = texts.astype(object) if isinstance(texts, np.ndarray) else texts
        texts = tf.convert_to_tensor(texts, tf.string)
    if any(size not in (1, None) for size in tuple(texts.shape)[1:]):
        raise InputTypeError(f"{name}: texts of shape [B] are needed, found {tuple(texts.shape)}")
    return texts
