"""Weights in Keras's .weights.h5, as `save_weights` of our models writes them, under Google's
names.
"""

import collections
from collections.abc import Collection
from typing import TYPE_CHECKING

import h5py
import numpy as np

if TYPE_CHECKING:
    import keras

from bert_cli.base.errors import InputError
from bert_cli.base.names import TF_MODEL
from bert_cli.weights.formats.h5_files import DAMAGES, LAYER_NAMES, damaged, open_h5
from bert_cli.weights.names import WEIGHT_NAMES, of_any_layer
from bert_cli.weights.reader import Reader

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


_FORMAT = ".weights.h5 file"


class KerasReader(Reader):
    """Weights of a .weights.h5 under Google's names."""

    def __init__(self, path: str):
        """Open a file. Raises InputError if it is damaged, or has the layout of a tf_model.h5."""
        self.description = path
        try:
            self._file = open_h5(path)
            found = _datasets(self._file)
            self._paths = {name: path for path, name in found.items() if name}
            self.shapes = {name: tuple(self._file[path].shape) for name, path in self._paths.items()}
        except DAMAGES as error:
            raise damaged(path, _FORMAT, error) from None
        if LAYER_NAMES in self._file.attrs and not self._paths:
            raise InputError(
                f"{path}: has the older HDF5 layout of Keras; if transformers wrote it, call it {TF_MODEL} and put "
                "its config.json and vocab.txt next to it"
            )
        self.unused = [path for path, name in found.items() if name is None]

    def read(self, name: str) -> np.ndarray:
        """float32."""
        try:
            return np.asarray(self._file[self._paths[name]], np.float32)
        except DAMAGES as error:
            raise damaged(self.description, _FORMAT, error) from None


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
