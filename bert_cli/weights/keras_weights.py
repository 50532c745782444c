"""Weights in Keras's .weights.h5, as `save_weights` of our models writes them, under Google's names."""

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

import h5py
import numpy as np

if TYPE_CHECKING:
    import keras

from bert_cli.base.errors import InputError
from bert_cli.base.files import local

# Keras numbers the weights of a layer in the order in which they were made, and notes the layer's name beside them, which
# is its scope with _ for / (see layers.Scoped). Patterns of such names, the scope, and the weights' names.
_DENSE, _NORM, _HEAD = ("kernel", "bias"), ("beta", "gamma"), ("output_weights", "output_bias")
_LAYER, _SCOPE = r"bert_encoder_layer_(\d+)_", r"bert/encoder/layer_\1/"
_RULES = [
    (r"bert_embeddings", "bert/embeddings/", ("word_embeddings", "token_type_embeddings", "position_embeddings")),
    (r"bert_embeddings_LayerNorm", "bert/embeddings/LayerNorm/", _NORM),
    (_LAYER + r"attention_self_(query|key|value)", _SCOPE + r"attention/self/\2/", _DENSE),
    (_LAYER + r"attention_output_dense", _SCOPE + "attention/output/dense/", _DENSE),
    (_LAYER + r"attention_output_LayerNorm", _SCOPE + "attention/output/LayerNorm/", _NORM),
    (_LAYER + r"(intermediate|output)_dense", _SCOPE + r"\2/dense/", _DENSE),
    (_LAYER + r"output_LayerNorm", _SCOPE + "output/LayerNorm/", _NORM),
    (r"bert_pooler_dense", "bert/pooler/dense/", _DENSE),
    (r"cls_predictions", "cls/predictions/", ("output_bias",)),
    (r"cls_predictions_transform_dense", "cls/predictions/transform/dense/", _DENSE),
    (r"cls_predictions_transform_LayerNorm", "cls/predictions/transform/LayerNorm/", _NORM),
    (r"cls_seq_relationship", "cls/seq_relationship/", _HEAD),
    (r"cls_squad", "cls/squad/", _HEAD),
    (r"classifier", "", _HEAD),
]  # fmt: skip


def _google_name(layer: str, number: str) -> str | None:
    for pattern, scope, names in _RULES:
        found = re.fullmatch(pattern, layer)
        if found and number.isdecimal() and int(number) < len(names):
            return found.expand(scope) + names[int(number)]
    return None


def _datasets(file: h5py.File) -> dict[str, str | None]:
    """Path in the file -> Google's name, None where it is none of our models' weights."""
    names: dict[str, str | None] = {}

    def visit(path: str, item: h5py.Dataset | h5py.Group) -> None:
        if isinstance(item, h5py.Dataset):
            names[path] = _google_name(str(item.parent.attrs.get("name", "")), path.rpartition("/")[2])

    file.visititems(visit)
    return names


class KerasReader:
    """Weights of a .weights.h5 under Google's names."""

    def __init__(self, path: str):
        self.description = path
        try:
            self._file = h5py.File(local(path), "r")
            found = _datasets(self._file)
            self._paths = {name: path for path, name in found.items() if name}
            self.shapes = {name: tuple(self._file[path].shape) for name, path in self._paths.items()}
        except (OSError, KeyError, RuntimeError) as error:
            raise InputError(_damaged(path, error)) from None
        self.unused = [path for path, name in found.items() if name is None]

    def read(self, name: str) -> np.ndarray:
        """float32."""
        try:
            return np.asarray(self._file[self._paths[name]], np.float32)
        except (OSError, RuntimeError) as error:
            raise InputError(_damaged(self.description, error)) from None


def _damaged(path: str, error: Exception) -> str:
    return f"{path}: is no whole .weights.h5 file: {' '.join(str(error).split())[:160]}"


def write_keras(path: str, model: "keras.Model", names: Collection[str]) -> None:
    """Write the weights of a Keras model of ours with `save_weights`, without those that are not in `names`."""
    # Keras writes all weights of a model; those that the checkpoint did not have are random, and taken out again.
    model.save_weights(path)
    with h5py.File(path, "r+") as file:
        for place, name in _datasets(file).items():
            if name not in names:
                del file[place]
