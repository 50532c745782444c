"""HDF5 files with weights: tf_model.h5 from transformers, and .weights.h5 from Keras.

TensorFlow classes in transformers wrote the first one. Keras writes the second one for this
package's models, and with other names for the models of KerasHub.
"""

import collections
import mmap
import os
import re
import struct
from collections.abc import Collection
from typing import TYPE_CHECKING

import h5py
import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.files import make_local
from bert_cli.base.formats import list_some
from bert_cli.base.names import TF_MODEL
from bert_cli.model.config import all_weight_names
from bert_cli.weights.advice import from_tensorflow
from bert_cli.weights.model_garden import flat_shape
from bert_cli.weights.variables import Reader, find_google_name

if TYPE_CHECKING:
    import keras

# Exceptions from h5py for a damaged file; the last two are for an invalid name or type.
_DAMAGES = (OSError, KeyError, RuntimeError, TypeError, ValueError)
# An attribute in the older Keras layout, which transformers also writes.
_LAYER_NAMES = "layer_names"
# PyTorch's terms for weights by Keras' terms.
_WEIGHTS = {"kernel": "weight", "embeddings": "weight", "gamma": "weight", "beta": "bias"}
# Keras numbers a layer's weights by creation, and stores the layer's name: its scope with _ for /
# (see layers.Scoped). All layers create their weights in this order; a layer has only some of them.
_CREATION_ORDER = (
    "word_embeddings", "token_type_embeddings", "position_embeddings", "kernel", "beta", "gamma", "output_weights", "bias",
    "output_bias",
)  # fmt: skip
_KERAS_FORMAT = ".weights.h5 file"  # name for messages


def _open_h5(path: str) -> h5py.File:
    """Open a file; raise one of _DAMAGES if it is damaged."""
    source = make_local(path)
    file = h5py.File(source, "r")
    _check_heaps(source)
    return file


def _damage_error(path: str, name: str, error: Exception) -> InputError:
    """Return the error for a damaged file.

    Args:
        path: the file.
        name: the format's name.
        error: exception from h5py.
    """
    return InputError(f"{path}: is an incomplete or damaged {name}: {' '.join(str(error).split())[:160]}")


def _check_heaps(path: str) -> None:
    """Raise OSError if an object in a global heap has an impossible size.

    Global heaps store strings. The HDF5 library adds object sizes without a check. A size of 0 for
    free space makes it loop forever, without a way to interrupt it. The format is in the HDF5 File
    Format Specification, III.E.
    """
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = data.find(b"GCOL\x01")
        while 0 <= start <= len(data) - 16:
            end = start + struct.unpack_from("<Q", data, start + 8)[0]
            # Skip bytes that only look like a heap: the library reports or ignores them.
            position = start + 16 if end <= len(data) else end
            # Stop if there is no space for another header.
            while position <= end - 16:
                number, size = struct.unpack_from("<H6xQ", data, position)
                # Number 0 is free space: its size includes the header.
                length = 16 + -(-size // 8) * 8 if number else size
                if not 16 <= length <= end - position:
                    raise OSError(f"a heap at byte {start} has an object of {size} bytes")
                position += length
            start = data.find(b"GCOL\x01", start + 1)


class TransformersH5:
    """Reader for tf_model.h5, under PyTorch's names and in PyTorch's orientation.

    Attributes:
        description: path to the file.
        shapes: shapes by PyTorch's name.
    """

    def __init__(self, path: str):
        """Open a file; raise InputError if it is damaged."""
        self.description = path
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._datasets: dict[str, h5py.Dataset] = {}
        try:
            self._file = _open_h5(path)
            self._file.visititems(self._add)
        except _DAMAGES as error:
            raise self._damage_error(error) from None

    def _add(self, path: str, item: h5py.Dataset | h5py.Group) -> None:
        if isinstance(item, h5py.Dataset):
            name = pytorch_name(path)
            self._datasets[name] = item
            shape = tuple(item.shape)
            self.shapes[name] = shape[::-1] if _is_kernel(path) else shape

    def read(self, name: str) -> np.ndarray:
        """Return a tensor in its stored dtype."""
        dataset = self._datasets[name]
        try:
            values = np.asarray(dataset)
        except _DAMAGES as error:
            raise self._damage_error(error) from None
        return values.T if _is_kernel(dataset.name) else values

    def _damage_error(self, error: Exception) -> InputError:
        advice = from_tensorflow(os.path.dirname(self.description))
        name = "HDF5 file with TensorFlow weights of transformers"
        return InputError(f"{_damage_error(self.description, name, error)}; download it again, or {advice}")


def _is_kernel(path: str) -> bool:
    return path.removesuffix(":0").endswith("/kernel")


def pytorch_name(path: str) -> str:
    """Return PyTorch's name for a dataset.

    Args:
        path: layer, model and weight, for example
            bert/tf_bert_model/bert/encoder/layer_._0/output/dense/kernel:0. `a___b` is b in
            PyTorch, and `_._` separates a list from an index.
    """
    parts = re.sub(r"/[^/]*___", "/", path.removesuffix(":0")).replace("_._", "/").split("/")[2:]
    return ".".join([*parts[:-1], _WEIGHTS.get(parts[-1], parts[-1])]) if parts else path


def _google_names() -> dict[str, str]:
    """Return Google's names by <layer name>/<weight number>."""
    counts: collections.Counter[str] = collections.Counter()
    names = {}
    for name in sorted(all_weight_names(), key=lambda name: _CREATION_ORDER.index(name.rpartition("/")[2])):
        # Google's classifier has no scope.
        layer = name.rpartition("/")[0].replace("/", "_") or "classifier"
        names[f"{layer}/{counts[layer]}"] = name
        counts[layer] += 1
    return names


_GOOGLE_NAMES = _google_names()


def _datasets(file: h5py.File) -> dict[str, str | None]:
    """Return Google's name for each dataset's path, or None if it is not such a weight."""
    names: dict[str, str | None] = {}

    def visit(path: str, item: h5py.Dataset | h5py.Group) -> None:
        if isinstance(item, h5py.Dataset):
            layer = item.parent.attrs.get("name", "")
            number = path.rpartition("/")[2]
            # Without token types, the position embeddings are the second weight.
            if (layer, number, len(item.parent)) == ("bert_embeddings", "1", 2):
                number = "2"
            names[path] = find_google_name(f"{layer}/{number}", _GOOGLE_NAMES)

    # Use the stored layer names, not the groups: Keras numbers groups by class, so they depend on
    # the model.
    file.visititems(visit)
    return names


class KerasReader(Reader):
    """Reader for a .weights.h5 file, under Google's names."""

    def __init__(self, path: str):
        """Open a file; raise InputError if it is damaged, or has the layout of tf_model.h5."""
        self.description = path
        try:
            self._file = _open_h5(path)
            names = _datasets(self._file)
            self._paths = {name: path for path, name in names.items() if name}
            self.shapes = {name: tuple(self._file[path].shape) for name, path in self._paths.items()}
        except _DAMAGES as error:
            raise _damage_error(path, _KERAS_FORMAT, error) from None
        if _LAYER_NAMES in self._file.attrs and not self._paths:
            raise InputError(
                f"{path}: has the older HDF5 layout of Keras; if transformers wrote it, call it {TF_MODEL} and put "
                "its config.json and vocab.txt next to it"
            )
        self.unused = [path for path, name in names.items() if name is None]

    def read(self, name: str) -> np.ndarray:
        """Return float32 values."""
        try:
            return np.asarray(self._file[self._paths[name]], np.float32)
        except _DAMAGES as error:
            raise _damage_error(self.description, _KERAS_FORMAT, error) from None


def write_keras(path: str, model: "keras.Model", names: Collection[str]) -> None:
    """Write some of a model's weights with Keras' `save_weights`.

    Args:
        path: file to write.
        model: a model of this package.
        names: Google's names for the weights to write.
    """
    # Delete the others afterwards: Keras writes all weights, and those without a value are random.
    model.save_weights(path)
    with h5py.File(path, "r+") as file:
        for dataset_path, name in _datasets(file).items():
            if name not in names:
                del file[dataset_path]


_KERAS_HUB_FORMAT = "model.weights.h5 of a KerasHub preset"
# Layer outside of the encoder's layers -> its variables by number.
_KERAS_HUB_LAYERS = {
    "token_embedding": ("bert/embeddings/word_embeddings",),
    "position_embedding": ("bert/embeddings/position_embeddings",),
    "segment_embedding": ("bert/embeddings/token_type_embeddings",),
    "embeddings_layer_norm": ("bert/embeddings/LayerNorm/gamma", "bert/embeddings/LayerNorm/beta"),
    "pooled_dense": ("bert/pooler/dense/kernel", "bert/pooler/dense/bias"),
}
_KERAS_HUB_ENCODER_LAYER = re.compile(r"transformer_layer_(\d+)")
# Path below an encoder layer -> Google's scope and its variables by number.
_DENSE, _NORM = ("kernel", "bias"), ("gamma", "beta")
_KERAS_HUB_PARTS = {
    "_self_attention_layer/query_dense": ("attention/self/query", _DENSE),
    "_self_attention_layer/key_dense": ("attention/self/key", _DENSE),
    "_self_attention_layer/value_dense": ("attention/self/value", _DENSE),
    "_self_attention_layer/output_dense": ("attention/output/dense", _DENSE),
    "_self_attention_layer_norm": ("attention/output/LayerNorm", _NORM),
    "_feedforward_intermediate_dense": ("intermediate/dense", _DENSE),
    "_feedforward_output_dense": ("output/dense", _DENSE),
    "_feedforward_layer_norm": ("output/LayerNorm", _NORM),
}


class KerasHubReader(Reader):
    """Reader for a preset's weights, under Google's names."""

    def __init__(self, path: str):
        """Open a file; raise InputError if it is damaged, or has no layer of a BertBackbone."""
        self.description = f"{path} (KerasHub)"
        self._path = path
        self._paths: dict[str, str] = {}
        self.unused: list[str] = []
        try:
            self._file = _open_h5(path)
            self._file.visititems(self._add)
            self.shapes = {name: flat_shape(name, self._file[stored].shape) for name, stored in self._paths.items()}
            quantized = [stored for stored in self._paths.values() if self._file[stored].dtype.kind != "f"]
        except _DAMAGES as error:
            raise _damage_error(path, _KERAS_HUB_FORMAT, error) from None
        # Keras stores the scales of quantized weights in other variables.
        if quantized:
            raise InputError(f"{path}: {list_some(quantized, 1)} holds no floats; take a preset that is not quantized")
        if not any(name.startswith("bert/encoder/") for name in self._paths):
            stored_names = list_some(self.unused, 3) if self.unused else "no weights"
            raise InputError(f"{path}: has no layer of KerasHub's BertBackbone (it has {stored_names})")

    def _add(self, path: str, item: h5py.Dataset | h5py.Group) -> None:
        if isinstance(item, h5py.Dataset):
            if name := _keras_hub_name(self._file, path):
                self._paths[name] = path
            else:
                self.unused.append(path)

    def read(self, name: str) -> np.ndarray:
        """Return float32 values."""
        try:
            return np.asarray(self._file[self._paths[name]], np.float32).reshape(self.shapes[name])
        except _DAMAGES as error:
            raise _damage_error(self._path, _KERAS_HUB_FORMAT, error) from None


def _keras_hub_name(file: h5py.File, path: str) -> str | None:
    """Return Google's name for a dataset, None if it is no weight of a BertBackbone.

    Args:
        file: the open file.
        path: layers/LAYER/vars/N, or layers/LAYER/PART/vars/N. Keras names LAYER by its class.
    """
    match = re.fullmatch(r"(?P<layer>layers/[^/]+)(?:/(?P<part>.+))?/vars/(?P<number>\d+)", path)
    if not match:
        return None
    number = int(match["number"])
    variables = file.get(f"{match['layer']}/vars")
    layer = str(variables.attrs.get("name", "")) if variables is not None else ""
    if match["part"] is None:
        names = _KERAS_HUB_LAYERS.get(layer, ())
        return names[number] if number < len(names) else None
    scope, kinds = _KERAS_HUB_PARTS.get(match["part"], ("", ()))
    encoder_layer = _KERAS_HUB_ENCODER_LAYER.fullmatch(layer)
    if not encoder_layer or number >= len(kinds):
        return None
    return f"bert/encoder/layer_{encoder_layer[1]}/{scope}/{kinds[number]}"
