"""Reader and writer for the weights and the config in Hugging Face's format.

The tokenizer's files are in text/tokenizer_json.py.
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
from bert_cli.problem_types.multiple_choice import MULTIPLE_CHOICE
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.registry import PROBLEM_TYPES
from bert_cli.weights.formats.safetensors_files import SafetensorsFiles
from bert_cli.weights.hugging_face_names import google_name, hugging_face_name, is_transposed
from bert_cli.weights.path import hugging_face_weights
from bert_cli.weights.reader import Reader

# Copies of weights that some writers store, and Google's name of the original.
_TIED = {
    "cls.predictions.decoder.weight": "bert/embeddings/word_embeddings",
    "cls.predictions.decoder.bias": "cls/predictions/output_bias",
    "vocab_projector.weight": "bert/embeddings/word_embeddings",
    "generator_lm_head.weight": "bert/embeddings/word_embeddings",
}


class _TensorFiles(Protocol):
    """Weights under PyTorch's names and in its orientation.

    Attributes:
        description: path to the file.
        shapes: shapes by stored name.
    """

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
    """Reader for a Hugging Face directory, under Google's names; no code in it is executed."""

    def __init__(self, folder: str):
        """Open model.safetensors, its shards or tf_model.h5; raise InputError for a damaged file."""
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
        values = self._read_stored(self._sources[name])
        return np.ascontiguousarray(values.T if is_transposed(name) else values)

    def _read_stored(self, stored_name: str) -> np.ndarray:
        """Return float32 values in the stored orientation."""
        return self._tensors.read(stored_name).astype(np.float32, copy=False)

    def check_tied(self) -> None:
        """Raise InputError if a stored masked-LM decoder differs from the word embeddings."""
        for stored_name in self.unused:
            original = _TIED.get(stored_name)
            if original in self.shapes:
                values = self._read_stored(stored_name)
                if not np.array_equal(values, self.read(original), equal_nan=True):
                    raise InputError(
                        f"{self.description}: {stored_name} differs from {original}; in Google's BERT they are one, "
                        "so only the encoder of this model can be used (bert-convert with the head encoder writes it)"
                    )


DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
_ACTIVATIONS = {"gelu_erf": "gelu", "gelu_tanh": "gelu_new"}
# Google's code uses this dropout before a classifier and ignores the config's rates.
_CLASSIFIER_DROPOUT = 0.1


def write_safetensors(
    path: str, tensors: dict[str, np.ndarray], head_type: str, dtype: str = "float32", model_type: str = BERT
) -> None:
    """Write weights under the names that transformers uses.

    Args:
        path: file to write.
        tensors: float32 arrays by Google's name.
        head_type: a key of HEAD_TYPES.
        dtype: a key of DTYPES.
        model_type: a key of NETWORKS.

    Raises:
        InputError: if the network has no such weight, a number is too large for `dtype`, or the
            file cannot be written.
    """
    renamed = {}
    for name, values in tensors.items():
        stored_name = hugging_face_name(name, model_type, head_type)
        if stored_name is None:
            raise InputError(f"{name}: Hugging Face's {NETWORKS[model_type].title} has no such weight")
        oriented = values.T if is_transposed(name) else values
        with np.errstate(over="ignore"):
            # Make it contiguous: safetensors ignores strides.
            cast = np.ascontiguousarray(oriented).astype(DTYPES[dtype])
        if not np.array_equal(np.isfinite(cast.astype(np.float32)), np.isfinite(oriented)):
            raise InputError(f"{name}: has numbers above the largest {dtype}; store it as float32 or bfloat16")
        renamed[stored_name.removeprefix(f"{model_type}.") if head_type == ENCODER else stored_name] = cast
    # Set the metadata "format", because transformers refuses a file without it.
    try:
        save_file(renamed, path, metadata={"format": "pt"})
        # Set the permissions: safetensors 0.8 renames a private temporary file.
        follow_umask(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: cannot be written: {error}") from None


def hugging_face_config(
    config: BertConfig,
    head_type: str,
    labels: tuple[str, ...] | None,
    pad_token_id: int = 0,
    dtype: str = "float32",
    problem_type: ProblemType | None = None,
) -> dict:
    """Return the contents of config.json.

    Args:
        config: the model's config.
        head_type: a key of HEAD_TYPES.
        labels: label names in the order of the classifier's outputs; None if the head has no labels.
        pad_token_id: id of [PAD].
        dtype: type for storing weights.
        problem_type: a text classifier's problem type; None if unknown.
    """
    network = config.network
    values = config.values() | {
        "architectures": [network.architecture(head_type)],
        "hidden_act": _ACTIVATIONS.get(config.activation, config.activation),
        "model_type": config.model_type,
        "pad_token_id": pad_token_id,
        "torch_dtype": dtype,
        **network.additional_keys,
    }
    # Remove our own key: hidden_act has the form of gelu in Hugging Face's names.
    del values["gelu"]
    if CLASSIFIER in HEAD_TYPES[head_type].heads:
        values[network.classifier_dropout] = _CLASSIFIER_DROPOUT
    if labels is not None:
        # Use strings, because JSON has no integer keys.
        values["id2label"] = {str(number): label for number, label in enumerate(labels)}
        values["label2id"] = {label: number for number, label in enumerate(labels)}
    if head_type == CLASSIFIER and problem_type and problem_type.hugging_face:
        values["problem_type"] = problem_type.hugging_face
    stored_keys = {field: key for key, field in network.keys.items()}
    values = {stored_keys.get(key, key): value for key, value in values.items() if key not in network.constants}
    # Sort the keys, like transformers.
    return dict(sorted(values.items()))


def _head_type(values: dict) -> str | None:
    """Return the head type for the class in a config.json; None for an unknown class."""
    classes = values.get("architectures")
    class_name = classes[0] if isinstance(classes, list) and classes else None
    return HEAD_TYPES_OF_CLASSES.get(class_name) if isinstance(class_name, str) else None


def read_hugging_face_problem(path: str) -> ProblemType | None:
    """Return the problem type that a config.json names or its class implies, or None.

    Raises:
        InputError: if the file is not a JSON object.
    """
    values = read_json_object(path)
    if _head_type(values) == CHOICE:
        return MULTIPLE_CHOICE
    stored = values.get("problem_type")
    return next(
        (candidate for candidate in PROBLEM_TYPES.values() if stored and candidate.hugging_face == stored),
        None,
    )


def read_cross_encoder_activation(path: str) -> str | None:
    """Return the activation that sentence-transformers applies to a cross-encoder's logit.

    Args:
        path: path to a config.json.

    Returns:
        A class name, such as "Sigmoid"; None if there is no activation, or only the identity.
    """
    values = read_json_object(path)
    section = values.get("sentence_transformers")
    function = section.get("activation_fn") if isinstance(section, dict) else None
    function = function or values.get("sbert_ce_default_activation_function")
    name = function.rpartition(".")[2] if isinstance(function, str) else ""
    return name if name not in ("", "Identity") else None


def read_hugging_face_labels(path: str) -> tuple[tuple[str, ...] | None, str | None]:
    """Return the label names and the head type in a config.json.

    Returns:
        The label names, or None if there are only generic ones (LABEL_0, LABEL_1, …). A key of
        HEAD_TYPES, or None for an unknown class.

    Raises:
        InputError: if the file is not a JSON object, or its label numbers have gaps.
    """
    values = read_json_object(path)
    head_type = _head_type(values)
    names = values.get("id2label")
    if not names:
        return None, head_type
    if not isinstance(names, dict) or sorted(names) != sorted(map(str, range(len(names)))):
        raise InputError(f"{path}: id2label does not number its labels 0, 1, …")
    labels = tuple(str(names[str(number)]) for number in range(len(names)))
    return (None if labels == generic_labels(len(labels)) else labels), head_type


def generic_labels(count: int) -> tuple[str, ...]:
    """Return the names that transformers gives to outputs without labels."""
    return tuple(f"LABEL_{number}" for number in range(count))
