"""Folders in Hugging Face's layout: model.safetensors and config.json. The tokenizer's files:
text/tokenizer_json.py.
"""

import os
from typing import Protocol

import ml_dtypes
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CHOICE, CLASSIFIER, ENCODER, HEAD_TYPES
from bert_cli.base.json_files import read_json_object
from bert_cli.base.names import SAFETENSORS, TF_MODEL
from bert_cli.base.writing import follow_umask
from bert_cli.model.config import BertConfig
from bert_cli.model.networks import BERT, HEAD_TYPES_OF_CLASSES, NETWORKS
from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.registry import PROBLEM_TYPES
from bert_cli.weights.formats.safetensors_files import SafetensorsFiles
from bert_cli.weights.hugging_face_names import google_name, hugging_face_name, is_transposed
from bert_cli.weights.path import hugging_face_weights
from bert_cli.weights.reader import Reader

# Stored by some writers although they are copies: their name and, in Google's spelling, what they
# must equal.
_TIED = {
    "cls.predictions.decoder.weight": "bert/embeddings/word_embeddings",
    "cls.predictions.decoder.bias": "cls/predictions/output_bias",
    "vocab_projector.weight": "bert/embeddings/word_embeddings",
    "generator_lm_head.weight": "bert/embeddings/word_embeddings",
}


class _TensorFiles(Protocol):
    """Weights under PyTorch's names and in its orientation."""

    description: str
    shapes: dict[str, tuple[int, ...]]

    def read(self, name: str) -> np.ndarray: ...


def _open_tensors(folder: str) -> _TensorFiles:
    path = hugging_face_weights(folder) or os.path.join(folder, SAFETENSORS)
    if os.path.basename(path) != TF_MODEL:
        return SafetensorsFiles(path)
    # Import late: h5py takes half a second, and few directories need it.
    from bert_cli.weights.formats.h5_files import TransformersH5

    return TransformersH5(path)


class HuggingFaceReader(Reader):
    """Weights of a Hugging Face directory under Google's names; nothing in it is executed."""

    def __init__(self, folder: str):
        """Open model.safetensors, its shards, or tf_model.h5. Raises InputError if a file is damaged."""
        self._tensors = _open_tensors(folder)
        self.description = self._tensors.description
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.unused: list[str] = []
        self._sources: dict[str, str] = {}
        for stored_name, shape in self._tensors.shapes.items():
            name = google_name(stored_name)
            if name is None:
                self.unused.append(stored_name)
                continue
            self.shapes[name] = shape[::-1] if is_transposed(name) else shape
            self._sources[name] = stored_name

    def read(self, name: str) -> np.ndarray:
        """Return float32 values in Google's orientation."""
        values = self._stored(self._sources[name])
        return np.ascontiguousarray(values.T if is_transposed(name) else values)

    def _stored(self, stored_name: str) -> np.ndarray:
        """Return float32 values in the stored orientation."""
        return self._tensors.read(stored_name).astype(np.float32, copy=False)

    def check_tied(self) -> None:
        """Raise InputError if the masked-LM decoder is stored and is not a copy of the word embeddings."""
        for stored_name in self.unused:
            original = _TIED.get(stored_name)
            if original in self.shapes:
                values = self._stored(stored_name)
                if not np.array_equal(values, self.read(original), equal_nan=True):
                    raise InputError(
                        f"{self.description}: {stored_name} differs from {original}; in Google's BERT they are one, "
                        "so only the encoder of this model can be used (bert-convert with the head encoder writes it)"
                    )


DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
_ACTIVATIONS = {"gelu_erf": "gelu", "gelu_tanh": "gelu_new"}
# The original's dropout before a classifier, whatever the config's own rates say.
_CLASSIFIER_DROPOUT = 0.1


def write_safetensors(
    path: str, tensors: dict[str, np.ndarray], kind: str, dtype: str = "float32", model_type: str = BERT
) -> None:
    """Write weights (Google's name -> float32 array) as transformers names them.

    kind: a key of HEAD_TYPES. dtype: a key of DTYPES; InputError where a number is too large for
    it. model_type: a key of NETWORKS.
    """
    renamed = {}
    for name, values in tensors.items():
        stored = hugging_face_name(name, model_type, kind)
        if stored is None:
            raise InputError(f"{name}: Hugging Face's {NETWORKS[model_type].title} has no such weight")
        turned = values.T if is_transposed(name) else values
        with np.errstate(over="ignore"):
            # safetensors writes the memory as it lies, whatever the strides say.
            cast = np.ascontiguousarray(turned).astype(DTYPES[dtype])
        if not np.array_equal(np.isfinite(cast.astype(np.float32)), np.isfinite(turned)):
            raise InputError(f"{name}: has numbers above the largest {dtype}; store it as float32 or bfloat16")
        renamed[stored.removeprefix(f"{model_type}.") if kind == ENCODER else stored] = cast
    # The metadata is what transformers asks for: without "format" it refuses the file.
    try:
        save_file(renamed, path, metadata={"format": "pt"})
        # safetensors 0.8 writes through a temporary file.
        follow_umask(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: cannot be written: {error}") from None


def hugging_face_config(
    config: BertConfig,
    kind: str,
    labels: tuple[str, ...] | None,
    pad_token_id: int = 0,
    dtype: str = "float32",
    problem_type: ProblemType | None = None,
) -> dict:
    """The contents of config.json; labels are names of the classifier's outputs, in their order,
    where it has one.

    problem_type: of a classifier of texts, where it is known. Hugging Face's "gelu" is the erf
    form and "gelu_new" the tanh form, whatever they are called in `config`.
    """
    network = config.network
    values = config.values() | {
        "architectures": [network.architecture(kind)],
        "hidden_act": _ACTIVATIONS.get(config.activation, config.activation),
        "model_type": config.model_type,
        "pad_token_id": pad_token_id,
        "torch_dtype": dtype,
        **network.stated,
    }
    del values["gelu"]  # our own key: hidden_act says it
    if CLASSIFIER in HEAD_TYPES[kind].heads:
        values[network.classifier_dropout] = _CLASSIFIER_DROPOUT
    if labels is not None:
        # JSON has no integers as keys.
        values["id2label"] = {str(number): label for number, label in enumerate(labels)}
        values["label2id"] = {label: number for number, label in enumerate(labels)}
    if kind == CLASSIFIER and problem_type and problem_type.hugging_face:
        values["problem_type"] = problem_type.hugging_face
    own_keys = {field: key for key, field in network.keys.items()}
    values = {own_keys.get(key, key): value for key, value in values.items() if key not in network.constants}
    # Sorted, as transformers writes its own files.
    return dict(sorted(values.items()))


def _head_type(values: dict) -> str | None:
    """The key of HEAD_TYPES that a config.json names by its class; None where it names none of these."""
    named = values.get("architectures")
    first = named[0] if isinstance(named, list) and named else None
    return HEAD_TYPES_OF_CLASSES.get(first) if isinstance(first, str) else None


def read_hugging_face_problem(path: str) -> ProblemType | None:
    """The problem type that a config.json names, or its architecture; None for neither. InputError
    for no JSON object.
    """
    values = read_json_object(path)
    if _head_type(values) == CHOICE:
        return MULTIPLE_CHOICE
    named = values.get("problem_type")
    return next((each for each in PROBLEM_TYPES.values() if named and each.hugging_face == named), None)


def read_cross_encoder_activation(path: str) -> str | None:
    """Return the function, such as Sigmoid, that sentence-transformers applies to the logit of a cross-encoder.

    None if the config.json has no such key, or the function is the identity.
    """
    values = read_json_object(path)
    section = values.get("sentence_transformers")
    named = section.get("activation_fn") if isinstance(section, dict) else None
    named = named or values.get("sbert_ce_default_activation_function")
    name = named.rpartition(".")[2] if isinstance(named, str) else ""
    return name if name not in ("", "Identity") else None


def read_hugging_face_labels(path: str) -> tuple[tuple[str, ...] | None, str | None]:
    """The label names of a config.json, None where it has none but LABEL_0, LABEL_1, …; and its
    architecture.

    The architecture is a key of HEAD_TYPES, None where the file names none of these. InputError for
    a file that is not a JSON object, or numbers its labels with gaps.
    """
    values = read_json_object(path)
    kind = _head_type(values)
    names = values.get("id2label")
    if not names:
        return None, kind
    if not isinstance(names, dict) or sorted(names) != sorted(map(str, range(len(names)))):
        raise InputError(f"{path}: id2label does not number its labels 0, 1, …")
    labels = tuple(str(names[str(number)]) for number in range(len(names)))
    return (None if labels == generic_labels(len(labels)) else labels), kind


def generic_labels(count: int) -> tuple[str, ...]:
    """Names for outputs that have none: transformers' own."""
    return tuple(f"LABEL_{number}" for number in range(count))
