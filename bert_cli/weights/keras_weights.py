"""Weights in Keras's .weights.h5, as `save_weights` of our models writes them, under Google's
names.
"""

import collections
import mmap
import struct
from collections.abc import Collection
from typing import TYPE_CHECKING

import h5py
import numpy as np

if TYPE_CHECKING:
    import keras

from bert_cli.base.errors import InputError
from bert_cli.base.files import local
from bert_cli.weights.names import WEIGHT_NAMES, of_any_layer

# Keras numbers the weights of a layer in the order in which they were made, and notes the layer's
# name with them, which is its scope with _ for / (see layers.Scoped). What our layers make, in that
# order; a layer has a few of these.
_MADE = (
    "word_embeddings", "token_type_embeddings", "position_embeddings", "kernel", "beta", "gamma", "output_weights", "bias",
    "output_bias",
)  # fmt: skip


def _google_names() -> dict[str, str]:
    """<layer's name>/<number of the weight> -> Google's name."""
    counts: collections.Counter[str] = collections.Counter()
    names = {}
    for name in sorted(WEIGHT_NAMES, key=lambda name: _MADE.index(name.rpartition("/")[2])):
        # The classifier of the original has no scope.
        layer = name.rpartition("/")[0].replace("/", "_") or "classifier"
        names[f"{layer}/{counts[layer]}"] = name
        counts[layer] += 1
    return names


_GOOGLE_NAMES = _google_names()
# What h5py raises for a damaged file; the last two where a name or a type in it makes no sense.
_DAMAGES = (OSError, KeyError, RuntimeError, TypeError, ValueError)


def _datasets(file: h5py.File) -> dict[str, str | None]:
    """Path in the file -> Google's name, None where it is none of our models' weights."""
    names: dict[str, str | None] = {}

    def visit(path: str, item: h5py.Dataset | h5py.Group) -> None:
        if isinstance(item, h5py.Dataset):
            layer = item.parent.attrs.get("name", "")
            number = path.rpartition("/")[2]
            # Without token types the positions are the second weight.
            if (layer, number, len(item.parent)) == ("bert_embeddings", "1", 2):
                number = "2"
            names[path] = of_any_layer(f"{layer}/{number}", _GOOGLE_NAMES)

    # By the names that the file notes, not by its groups: Keras numbers these by class, so they
    # differ from model to model.
    file.visititems(visit)
    return names


def _check_heaps(path: str) -> None:
    """OSError where a heap of texts says something of its objects that cannot be.

    The HDF5 library goes from object to object of a global heap by their sizes without a check, and so for
    ever at free space of size 0, which nothing interrupts. Layout: HDF5 File Format Specification, III.E.
    """
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = data.find(b"GCOL\x01")
        while 0 <= start <= len(data) - 16:
            end = start + struct.unpack_from("<Q", data, start + 8)[0]
            place = start + 16 if end <= len(data) else end  # no heap: the library says so, or never reads it
            while place <= end - 16:  # less is left without a header
                number, size = struct.unpack_from("<H6xQ", data, place)
                length = 16 + -(-size // 8) * 8 if number else size  # number 0: free space, with its header
                if not 16 <= length <= end - place:
                    raise OSError(f"a heap at byte {start} has an object of {size} bytes")
                place += length
            start = data.find(b"GCOL\x01", start + 1)


class KerasReader:
    """Weights of a .weights.h5 under Google's names."""

    def __init__(self, path: str):
        self.description = path
        try:
            source = local(path)
            self._file = h5py.File(source, "r")
            _check_heaps(source)
            found = _datasets(self._file)
            self._paths = {name: path for path, name in found.items() if name}
            self.shapes = {name: tuple(self._file[path].shape) for name, path in self._paths.items()}
        except _DAMAGES as error:
            raise InputError(_damaged(path, error)) from None
        self.unused = [path for path, name in found.items() if name is None]

    def read(self, name: str) -> np.ndarray:
        """float32."""
        try:
            return np.asarray(self._file[self._paths[name]], np.float32)
        except _DAMAGES as error:
            raise InputError(_damaged(self.description, error)) from None


def _damaged(path: str, error: Exception) -> str:
    return f"{path}: is an incomplete or damaged .weights.h5 file: {' '.join(str(error).split())[:160]}"


def write_keras(path: str, model: "keras.Model", names: Collection[str]) -> None:
    """Write the weights of a Keras model of ours with `save_weights`, without those that are not in
    `names`.
    """
    # Keras writes all weights of a model; those that the checkpoint did not have are random, and
    # taken out again.
    model.save_weights(path)
    with h5py.File(path, "r+") as file:
        for place, name in _datasets(file).items():
            if name not in names:
                del file[place]
