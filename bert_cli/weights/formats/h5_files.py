"""HDF5 files, and the layout that transformers' TensorFlow classes use (tf_model.h5)."""

import mmap
import os
import re
import struct

import h5py
import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.files import make_local
from bert_cli.weights.formats.foreign import from_tensorflow

# What h5py raises for a damaged file; the last two if a name or a type in it makes no sense.
DAMAGES = (OSError, KeyError, RuntimeError, TypeError, ValueError)
LAYER_NAMES = "layer_names"  # attribute of the older layout, which transformers writes too
# Keras' words for weights -> PyTorch's.
_WEIGHTS = {"kernel": "weight", "embeddings": "weight", "gamma": "weight", "beta": "bias"}


def open_h5(path: str) -> h5py.File:
    """Open a file. Raises one of DAMAGES if it is damaged."""
    source = make_local(path)
    file = h5py.File(source, "r")
    _check_heaps(source)
    return file


def damaged(path: str, name: str, error: Exception) -> InputError:
    """Return the error for a damaged file. name: what its format is called."""
    return InputError(f"{path}: is an incomplete or damaged {name}: {' '.join(str(error).split())[:160]}")


def _check_heaps(path: str) -> None:
    """Raise OSError if the objects of a heap of texts have impossible sizes.

    The HDF5 library goes from object to object of a global heap by their sizes without a check. At
    free space of size 0 it never ends, and nothing interrupts it. Layout: HDF5 File Format
    Specification, III.E.
    """
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = data.find(b"GCOL\x01")
        while 0 <= start <= len(data) - 16:
            end = start + struct.unpack_from("<Q", data, start + 8)[0]
            place = start + 16 if end <= len(data) else end  # no heap: the library reports or never reads it
            while place <= end - 16:  # less is left without a header
                number, size = struct.unpack_from("<H6xQ", data, place)
                length = 16 + -(-size // 8) * 8 if number else size  # number 0: free space, with its header
                if not 16 <= length <= end - place:
                    raise OSError(f"a heap at byte {start} has an object of {size} bytes")
                place += length
            start = data.find(b"GCOL\x01", start + 1)


class TransformersH5:
    """Tensors of a tf_model.h5 under PyTorch's names and in PyTorch's orientation.

    Attributes:
        description: path of the file.
        shapes: PyTorch's name -> shape.
    """

    def __init__(self, path: str):
        """Open a file. Raises InputError if it is damaged."""
        self.description = path
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._datasets: dict[str, h5py.Dataset] = {}
        try:
            self._file = open_h5(path)
            self._file.visititems(self._add)
        except DAMAGES as error:
            raise self._damaged(error) from None

    def _add(self, path: str, item: h5py.Dataset | h5py.Group) -> None:
        if isinstance(item, h5py.Dataset):
            name = pytorch_name(path)
            self._datasets[name] = item
            shape = tuple(item.shape)
            self.shapes[name] = shape[::-1] if _is_kernel(path) else shape

    def read(self, name: str) -> np.ndarray:
        """Return a tensor in its stored type."""
        dataset = self._datasets[name]
        try:
            values = np.asarray(dataset)
        except DAMAGES as error:
            raise self._damaged(error) from None
        return values.T if _is_kernel(dataset.name) else values

    def _damaged(self, error: Exception) -> InputError:
        way = from_tensorflow(os.path.dirname(self.description))
        name = "HDF5 file with TensorFlow weights of transformers"
        return InputError(f"{damaged(self.description, name, error)}; download it again, or {way}")


def _is_kernel(path: str) -> bool:
    return path.removesuffix(":0").endswith("/kernel")


def pytorch_name(path: str) -> str:
    """Return the PyTorch name of a dataset.

    A path has the layer, the model, and the weight, for example
    bert/tf_bert_model/bert/encoder/layer_._0/output/dense/kernel:0. `a___b` is b in PyTorch, and
    `_._` separates a list and its index.
    """
    parts = re.sub(r"/[^/]*___", "/", path.removesuffix(":0")).replace("_._", "/").split("/")[2:]
    return ".".join([*parts[:-1], _WEIGHTS.get(parts[-1], parts[-1])]) if parts else path
