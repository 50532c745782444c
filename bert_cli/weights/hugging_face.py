"""Reader and writer for weights in Hugging Face's format.

The config is in model/hugging_face_config.py, and the tokenizer's files in text/tokenizer_json.py.
"""

import os
from typing import Protocol

import ml_dtypes
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import ENCODER
from bert_cli.base.names import SAFETENSORS, TF_MODEL
from bert_cli.base.writing import follow_umask
from bert_cli.model.networks import BERT, NETWORKS
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
