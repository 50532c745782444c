"""Reader for HDF5 files in the format of transformers' TensorFlow classes (tf_model.h5)."""

import mmap
import os
import re
import struct

import h5py
import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.files import make_local
from bert_cli.weights.formats.foreign import from_tensorflow

# Exceptions from h5py for a damaged file; the last two are for an invalid name or type.
DAMAGES = (OSError, KeyError, RuntimeError, TypeError, ValueError)
# An attribute in the older Keras layout, which transformers also writes.
LAYER_NAMES = "layer_names"
# PyTorch's terms for weights by Keras' terms.
_WEIGHTS = {"kernel": "weight", "embeddings": "weight", "gamma": "weight", "beta": "bias"}


def open_h5(path: str) -> h5py.File:
    """Open a file; raise one of DAMAGES if it is damaged."""
    source = make_local(path)
    file = h5py.File(source, "r")
    _check_heaps(source)
    return file


def damage_error(path: str, name: str, error: Exception) -> InputError:
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
            self._file = open_h5(path)
            self._file.visititems(self._add)
        except DAMAGES as error:
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
        except DAMAGES as error:
            raise self._damage_error(error) from None
        return values.T if _is_kernel(dataset.name) else values

    def _damage_error(self, error: Exception) -> InputError:
        advice = from_tensorflow(os.path.dirname(self.description))
        name = "HDF5 file with TensorFlow weights of transformers"
        return InputError(f"{damage_error(self.description, name, error)}; download it again, or {advice}")


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
