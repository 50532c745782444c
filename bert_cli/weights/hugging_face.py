"""Reader and writer for weights in Hugging Face's format, and its names for Google's.

The config is in model/config_files.py, and the tokenizer's files in text/tokenizer_json.py.
"""

import os
from typing import Protocol

import ml_dtypes
import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CHOICE, CLASSIFIER, ENCODER, HEAD_TYPES, POOLER, SPANS, TAGGER, head_of
from bert_cli.base.names import SAFETENSORS, TF_MODEL
from bert_cli.model.config import all_weight_names
from bert_cli.model.lora import Lora
from bert_cli.model.networks import BERT, NETWORKS
from bert_cli.weights.formats.adapter_files import Adapter, LowRankChange, read_adapter, write_adapter
from bert_cli.weights.formats.safetensors_files import SafetensorsFiles, write_tensors
from bert_cli.weights.path import hugging_face_weights
from bert_cli.weights.variables import LORA_A, LORA_B, Reader, find_google_name, is_training_state

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


def _open_tensors(folder: str, weights_name: str) -> _TensorFiles:
    preferred_path = None if weights_name else hugging_face_weights(folder)
    path = preferred_path or os.path.join(folder, weights_name or SAFETENSORS)
    if os.path.basename(path) != TF_MODEL:
        return SafetensorsFiles(path)
    # Import late: h5py takes half a second, and few directories need it.
    from bert_cli.weights.h5_files import TransformersH5

    return TransformersH5(path)


class HuggingFaceReader(Reader):
    """Reader for a Hugging Face directory, under Google's names; no code in it is executed."""

    def __init__(self, folder: str, weights_name: str = "", adapter_folder: str = "", strict: bool = False):
        """Open model.safetensors, its shards or tf_model.h5; raise InputError for a damaged file.

        Args:
            folder: the directory.
            weights_name: the file to open; "" for the first of these.
            adapter_folder: directory with an adapter of peft to merge, or "".
            strict: whether an unknown key of an adapter is an error.
        """
        self._tensors = _open_tensors(folder, weights_name)
        self.description = self._tensors.description
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.unused: list[str] = []
        self._sources: dict[str, str] = {}
        for stored_name, shape in self._tensors.shapes.items():
            name = hugging_face_to_google_name(stored_name)
            if name is None:
                self.unused.append(stored_name)
                continue
            self.shapes[name] = shape[::-1] if is_transposed(name) else shape
            self._sources[name] = stored_name
        self._changes: dict[str, LowRankChange] = {}
        self._replaced: dict[str, np.ndarray] = {}
        if adapter_folder:
            self._add_adapter(read_adapter(adapter_folder, strict))
            self.description = f"{adapter_folder} (LoRA on {self.description})"

    def _add_adapter(self, adapter: Adapter) -> None:
        """Change the weights that an adapter names; refuse an adapter for another model."""
        for stored_name, change in adapter.changes.items():
            name = hugging_face_to_google_name(stored_name)
            shape = (change.b.shape[0], change.a.shape[1])
            if name is None or self.shapes.get(name) != (shape[::-1] if is_transposed(name) else shape):
                raise InputError(
                    f"{adapter.path}: changes {stored_name}, {list(shape)}, which {self.description} does not have; "
                    "the adapter belongs to another model"
                )
            self._changes[name] = change
        for stored_name, values in adapter.tensors.items():
            name = hugging_face_to_google_name(stored_name)
            if name is None:
                self.unused.append(stored_name)
                continue
            oriented = np.array(values.T if is_transposed(name) else values, np.float32, order="C")
            self.shapes[name] = oriented.shape
            self._replaced[name] = oriented

    def read(self, name: str) -> np.ndarray:
        """Return float32 values in Google's orientation."""
        if name in self._replaced:
            return self._replaced[name]
        values = self._tensors.read(self._sources[name])
        if name in self._changes:
            values = values.astype(np.float32) + self._changes[name].values
        # Copy always: the values may be a view of a file that changes later.
        return np.array(values.T if is_transposed(name) else values, np.float32, order="C")

    def check_tied(self) -> None:
        """Raise InputError if a stored masked-LM decoder differs from the word embeddings."""
        for stored_name in self.unused:
            original = _TIED.get(stored_name)
            if original in self.shapes:
                values = self._tensors.read(stored_name).astype(np.float32, copy=False)
                if not np.array_equal(values, self.read(original), equal_nan=True):
                    raise InputError(
                        f"{self.description}: {stored_name} differs from {original}; in Google's BERT they are one, "
                        "so only the encoder of this model can be used (bert-convert with the head encoder writes it)"
                    )


DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


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
            cast = oriented.astype(DTYPES[dtype])
        if not np.array_equal(np.isfinite(cast.astype(np.float32)), np.isfinite(oriented)):
            raise InputError(f"{name}: has numbers above the largest {dtype}; store it as float32 or bfloat16")
        renamed[stored_name.removeprefix(f"{model_type}.") if head_type == ENCODER else stored_name] = cast
    write_tensors(path, renamed)


# Head type -> peft's name of the task.
_PEFT_TASKS = {CLASSIFIER: "SEQ_CLS", CHOICE: "SEQ_CLS", TAGGER: "TOKEN_CLS", SPANS: "QUESTION_ANS"}


def write_trained_adapter(
    folder: str, reader: Reader, base: str, lora: Lora, head_type: str, model_type: str = BERT
) -> None:
    """Write the adapter in a checkpoint with pooler and head as files for peft.

    Args:
        folder: directory to write.
        reader: an open checkpoint with the adapter's variables, see weights.variables.
        base: directory of the base model.
        lora: the adapter's options.
        head_type: a key of HEAD_TYPES.
        model_type: a key of NETWORKS.
    """
    pairs, tensors = {}, {}
    for name in reader.shapes:
        stored_name = hugging_face_name(name, model_type, head_type)
        if f"{name}{LORA_A}" in reader.shapes:
            assert stored_name, "every kernel with an adapter has a name"
            pairs[stored_name.removesuffix(".weight")] = reader.read(f"{name}{LORA_A}"), reader.read(f"{name}{LORA_B}")
        elif stored_name and not is_training_state(name) and (head_of(name) or name.startswith(POOLER)):
            values = reader.read(name)
            tensors[stored_name] = values.T if is_transposed(name) else values
    options = {"task_type": _PEFT_TASKS[head_type], "r": lora.rank, "lora_alpha": lora.alpha}
    write_adapter(folder, options | {"base_model_name_or_path": base}, pairs, tensors)


# Hugging Face's prefix for each scope of Google's output_weights and output_bias. All other names
# differ only in punctuation.
_HEADS = {
    "": "classifier",
    "cls/predictions/": "cls.predictions",
    "cls/seq_relationship/": "cls.seq_relationship",
    "cls/squad/": "qa_outputs",
}
# By model_type: substrings of BERT's names in Hugging Face's format, and their replacements in
# another network. They apply in this order.
_REPLACEMENTS = {
    BERT: {},
    "distilbert": {
        "attention.self.query.": "attention.q_lin.",
        "attention.self.key.": "attention.k_lin.",
        "attention.self.value.": "attention.v_lin.",
        "attention.output.dense.": "attention.out_lin.",
        "attention.output.LayerNorm.": "sa_layer_norm.",
        "intermediate.dense.": "ffn.lin1.",
        "output.dense.": "ffn.lin2.",
        "output.LayerNorm.": "output_layer_norm.",
        "encoder.layer.": "transformer.layer.",
        "bert.pooler.dense.": "pre_classifier.",
        "cls.predictions.transform.dense.": "vocab_transform.",
        "cls.predictions.transform.LayerNorm.": "vocab_layer_norm.",
        "cls.predictions.bias": "vocab_projector.bias",
    },
    "electra": {
        "classifier.": "classifier.out_proj.",
        "bert.pooler.dense.": "classifier.dense.",
        "cls.predictions.transform.": "generator_predictions.",
        "cls.predictions.bias": "generator_lm_head.bias",
        "predictions.dense_1.": "predictions.dense_prediction.",
    },
}
# By model_type and head type: replacements that apply afterwards.
_HEAD_REPLACEMENTS = {
    ("electra", TAGGER): {"classifier.out_proj.": "classifier."},
    ("electra", CHOICE): {"classifier.out_proj.": "classifier.", "classifier.dense.": "sequence_summary.summary."},
}


def _network_name(name: str, model_type: str, head_type: str) -> str:
    """Return Hugging Face's name, including the leading "bert.", "distilbert." or "electra.".

    The weight need not exist in this network.

    Args:
        name: Google's name.
        model_type: a key of NETWORKS.
        head_type: a key of HEAD_TYPES.
    """
    renamed = _bert_name(name)
    for old, new in (_REPLACEMENTS[model_type] | _HEAD_REPLACEMENTS.get((model_type, head_type), {})).items():
        renamed = renamed.replace(old, new)
    return f"{model_type}.{renamed.removeprefix('bert.')}" if renamed.startswith("bert.") else renamed


def _bert_name(name: str) -> str:
    scope, _, weight = name.rpartition("output_")
    if scope in _HEADS and weight in ("weights", "bias"):
        return f"{_HEADS[scope]}.{weight.replace('weights', 'weight')}"
    renamed = _with_pytorch_norms(name.replace("/", ".").replace("encoder.layer_", "encoder.layer."))
    renamed = renamed.removesuffix(".kernel")
    return renamed if renamed.endswith((".bias", ".weight")) else f"{renamed}.weight"


def _with_pytorch_norms(name: str) -> str:
    """Return a name with PyTorch's terms for LayerNorm weights."""
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


# Google's name by Hugging Face's name without the leading network, for all networks.
_GOOGLE_NAMES = {
    _network_name(name, model_type, head_type).removeprefix(f"{model_type}."): name
    for model_type in NETWORKS
    for head_type in HEAD_TYPES
    for name in all_weight_names()
}


def hugging_face_to_google_name(name: str) -> str | None:
    """Return Google's name for a weight, or None if Google's BERT has no such weight.

    This includes the tied `cls.predictions.decoder.*`, `vocab_projector.weight` and
    `generator_lm_head.weight`, and the buffer `embeddings.position_ids`.
    """
    # The oldest files still use TensorFlow's terms for LayerNorm weights.
    renamed = _with_pytorch_norms(name)
    for network in NETWORKS:
        renamed = renamed.removeprefix(f"{network}.")
    return find_google_name(renamed, _GOOGLE_NAMES)


def is_transposed(name: str) -> bool:
    """Return whether Hugging Face stores the weight with Google's name `name` transposed."""
    # PyTorch stores a kernel as [out, in], Google as [in, out].
    return name.endswith("/kernel")


def hugging_face_name(name: str, model_type: str = BERT, head_type: str = CLASSIFIER) -> str | None:
    """Return Hugging Face's name for a weight, or None if the network has no such weight.

    Args:
        name: Google's name.
        model_type: a key of NETWORKS.
        head_type: a key of HEAD_TYPES, because names depend on the class.

    Returns:
        A name with the leading "bert.", "distilbert." or "electra.".
    """
    renamed = _network_name(name, model_type, head_type)
    return renamed if hugging_face_to_google_name(renamed) == name else None
