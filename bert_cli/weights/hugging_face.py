"""Folders in Hugging Face's layout: model.safetensors and config.json. The tokenizer's files: text/tokenizer_json.py."""

import dataclasses
import os
import re

import ml_dtypes
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from bert_cli.base.errors import InputError
from bert_cli.base.files import local
from bert_cli.base.head_types import CHOICE, CLASSIFIER, ENCODER, HEAD_TYPES
from bert_cli.base.json_files import read_json_object
from bert_cli.base.names import SAFETENSORS
from bert_cli.model.config import BertConfig
from bert_cli.problem_types.multiple_choice import MULTIPLE_CHOICE
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.registry import PROBLEM_TYPES

_LAYER, _GOOGLE_LAYER = r"encoder\.layer\.(\d+)\.", r"bert/encoder/layer_\1/"
# Patterns of names without the leading "bert."; a kernel is stored [out, in] there and [in, out] by Google.
_RULES = [
    (r"embeddings\.(word|position|token_type)_embeddings\.weight", r"bert/embeddings/\1_embeddings", False),
    (r"embeddings\.LayerNorm\.(weight|gamma)", "bert/embeddings/LayerNorm/gamma", False),
    (r"embeddings\.LayerNorm\.(bias|beta)", "bert/embeddings/LayerNorm/beta", False),
    (_LAYER + r"attention\.self\.(query|key|value)\.weight", _GOOGLE_LAYER + r"attention/self/\2/kernel", True),
    (_LAYER + r"attention\.self\.(query|key|value)\.bias", _GOOGLE_LAYER + r"attention/self/\2/bias", False),
    (_LAYER + r"(attention\.output|intermediate|output)\.dense\.weight", _GOOGLE_LAYER + r"\2/dense/kernel", True),
    (_LAYER + r"(attention\.output|intermediate|output)\.dense\.bias", _GOOGLE_LAYER + r"\2/dense/bias", False),
    (_LAYER + r"(attention\.output|output)\.LayerNorm\.(?:weight|gamma)", _GOOGLE_LAYER + r"\2/LayerNorm/gamma", False),
    (_LAYER + r"(attention\.output|output)\.LayerNorm\.(?:bias|beta)", _GOOGLE_LAYER + r"\2/LayerNorm/beta", False),
    (r"pooler\.dense\.weight", "bert/pooler/dense/kernel", True),
    (r"pooler\.dense\.bias", "bert/pooler/dense/bias", False),
    (r"classifier\.weight", "output_weights", False),
    (r"classifier\.bias", "output_bias", False),
    (r"cls\.predictions\.transform\.dense\.weight", "cls/predictions/transform/dense/kernel", True),
    (r"cls\.predictions\.transform\.dense\.bias", "cls/predictions/transform/dense/bias", False),
    (r"cls\.predictions\.transform\.LayerNorm\.(?:weight|gamma)", "cls/predictions/transform/LayerNorm/gamma", False),
    (r"cls\.predictions\.transform\.LayerNorm\.(?:bias|beta)", "cls/predictions/transform/LayerNorm/beta", False),
    (r"cls\.predictions\.bias", "cls/predictions/output_bias", False),
    (r"cls\.seq_relationship\.weight", "cls/seq_relationship/output_weights", False),
    (r"cls\.seq_relationship\.bias", "cls/seq_relationship/output_bias", False),
    (r"qa_outputs\.weight", "cls/squad/output_weights", False),
    (r"qa_outputs\.bias", "cls/squad/output_bias", False),
]  # fmt: skip


# Names that differ by more than punctuation.
_HEAD_NAMES = {
    "output_weights": "classifier.weight",
    "output_bias": "classifier.bias",
    "cls/predictions/output_bias": "cls.predictions.bias",
    "cls/seq_relationship/output_weights": "cls.seq_relationship.weight",
    "cls/seq_relationship/output_bias": "cls.seq_relationship.bias",
    "cls/squad/output_weights": "qa_outputs.weight",
    "cls/squad/output_bias": "qa_outputs.bias",
}
# Stored by some writers although they are copies: their name and, in Google's spelling, what they must equal.
_TIED = {
    "cls.predictions.decoder.weight": "bert/embeddings/word_embeddings",
    "cls.predictions.decoder.bias": "cls/predictions/output_bias",
}


def google_name(name: str) -> tuple[str, bool] | None:
    """Google's name for a weight and whether it is stored transposed; None for one that Google's BERT does not have.

    The tied `cls.predictions.decoder.*` and the buffer `embeddings.position_ids` are such.
    """
    bare = name.removeprefix("bert.")
    for pattern, replacement, transposed in _RULES:
        found = re.fullmatch(pattern, bare)
        if found:
            return found.expand(replacement).replace("attention.output", "attention/output"), transposed
    return None


def hugging_face_name(name: str) -> tuple[str, bool] | None:
    """The inverse of google_name, with the leading "bert."; None for a name that no BERT of Hugging Face's has."""
    renamed = _HEAD_NAMES.get(name)
    if renamed is None:
        renamed = name.replace("/", ".").replace("encoder.layer_", "encoder.layer.").removesuffix(".kernel")
        renamed = re.sub(r"(LayerNorm)\.gamma$", r"\1.weight", re.sub(r"(LayerNorm)\.beta$", r"\1.bias", renamed))
        if not renamed.endswith((".bias", ".weight")):
            renamed += ".weight"
    transposed = name.endswith("/kernel")
    return (renamed, transposed) if google_name(renamed) == (name, transposed) else None


class HuggingFaceReader:
    """Weights of a folder with model.safetensors under Google's names; nothing in it is executed."""

    def __init__(self, folder: str):
        self.description = os.path.join(folder, SAFETENSORS)
        try:
            self._file = safe_open(local(self.description), framework="np")
        except (SafetensorError, OSError) as error:
            raise InputError(f"{self.description}: is no whole safetensors file: {error}") from None
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.unused: list[str] = []
        self._sources: dict[str, tuple[str, bool]] = {}
        for name in self._file.keys():  # noqa: SIM118 (safe_open is no dict)
            renamed = google_name(name)
            if renamed is None:
                self.unused.append(name)
                continue
            shape = tuple(self._file.get_slice(name).get_shape())
            self.shapes[renamed[0]] = shape[::-1] if renamed[1] else shape
            self._sources[renamed[0]] = (name, renamed[1])

    def read(self, name: str) -> np.ndarray:
        """float32, in Google's orientation."""
        source, transposed = self._sources[name]
        values = self._file.get_tensor(source).astype(np.float32)
        return np.ascontiguousarray(values.T) if transposed else values

    def check_tied(self) -> None:
        """InputError where the masked-LM decoder is stored and is no copy of the word embeddings, as Google's is."""
        for name in self.unused:
            original = _TIED.get(name)
            if original in self.shapes:
                values = self._file.get_tensor(name).astype(np.float32)
                if not np.array_equal(values, self.read(original), equal_nan=True):
                    raise InputError(
                        f"{self.description}: {name} differs from {original}; in Google's BERT they are one, so this model "
                        "cannot be converted"
                    )


DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
_ACTIVATIONS = {"gelu_erf": "gelu", "gelu_tanh": "gelu_new"}
# The original's dropout before a classifier, whatever the config's own rates say.
_CLASSIFIER_DROPOUT = 0.1


def write_safetensors(path: str, tensors: dict[str, np.ndarray], kind: str, dtype: str = "float32") -> None:
    """Write weights (Google's name -> float32 array) as transformers names them.

    kind: a key of HEAD_TYPES. dtype: a key of DTYPES; InputError where a number is too large for it.
    """
    renamed = {}
    for name, values in tensors.items():
        found = hugging_face_name(name)
        if found is None:
            raise InputError(f"{name}: Hugging Face's BERT has no such weight")
        stored = found[0].removeprefix("bert.") if kind == ENCODER else found[0]
        with np.errstate(over="ignore"):
            # safetensors writes the memory as it lies, whatever the strides say.
            cast = np.ascontiguousarray(values.T if found[1] else values).astype(DTYPES[dtype])
        if not np.array_equal(np.isfinite(cast.astype(np.float32)), np.isfinite(values.T if found[1] else values)):
            raise InputError(f"{name}: has numbers above the largest {dtype}; store it as float32 or bfloat16")
        renamed[stored] = cast
    # The metadata is what transformers asks for: without "format" it refuses the file.
    try:
        save_file(renamed, path, metadata={"format": "pt"})
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
    """The contents of config.json; labels are names of the classifier's outputs, in their order, where it has one.

    problem_type: of a classifier of texts, where it is known. Hugging Face's "gelu" is the erf
    form and "gelu_new" the tanh form, whatever they are called in `config`.
    """
    values = dataclasses.asdict(config) | {
        "architectures": [HEAD_TYPES[kind].architecture],
        "hidden_act": _ACTIVATIONS.get(config.activation, config.activation),
        "model_type": "bert",
        "pad_token_id": pad_token_id,
        "position_embedding_type": "absolute",
        "torch_dtype": dtype,
    }
    del values["gelu"]  # our own key: hidden_act says it
    if CLASSIFIER in HEAD_TYPES[kind].heads:
        values["classifier_dropout"] = _CLASSIFIER_DROPOUT
    if labels is not None:
        values["id2label"] = {str(number): label for number, label in enumerate(labels)}
        values["label2id"] = {label: number for number, label in enumerate(labels)}
    if kind == CLASSIFIER and problem_type and problem_type.hugging_face:
        values["problem_type"] = problem_type.hugging_face
    return dict(sorted(values.items()))


def read_hugging_face_problem(path: str) -> ProblemType | None:
    """The problem type that a config.json names, or its architecture; None for neither. InputError for no JSON object."""
    values = read_json_object(path)
    if values.get("architectures") == [HEAD_TYPES[CHOICE].architecture]:
        return MULTIPLE_CHOICE
    named = values.get("problem_type")
    return next((each for each in PROBLEM_TYPES.values() if named and each.hugging_face == named), None)


def read_hugging_face_labels(path: str) -> tuple[tuple[str, ...] | None, str | None]:
    """The label names of a config.json, None where it has none but LABEL_0, LABEL_1, …; and its architecture.

    The architecture is a key of HEAD_TYPES, None where the file names none of these. InputError for a file that is
    no JSON object, or numbers its labels with gaps.
    """
    values = read_json_object(path)
    kinds = {kind.architecture: name for name, kind in HEAD_TYPES.items()}
    named = values.get("architectures")
    first = named[0] if isinstance(named, list) and named else None
    kind = kinds.get(first) if isinstance(first, str) else None
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
