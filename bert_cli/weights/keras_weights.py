"""Reader and writer for .weights.h5 files, which Keras writes for this package's models."""

import collections
from collections.abc import Collection
from typing import TYPE_CHECKING

import h5py
import numpy as np

if TYPE_CHECKING:
    import keras

from bert_cli.base.errors import InputError
from bert_cli.base.names import TF_MODEL
from bert_cli.model.config import all_weight_names
from bert_cli.weights.formats.h5_files import DAMAGES, LAYER_NAMES, damage_error, open_h5
from bert_cli.weights.names import find_google_name
from bert_cli.weights.reader import Reader

# Keras numbers a layer's weights by creation, and stores the layer's name: its scope with _ for /
# (see layers.Scoped). All layers create their weights in this order; a layer has only some of them.
_CREATION_ORDER = (
    "word_embeddings", "token_type_embeddings", "position_embeddings", "kernel", "beta", "gamma", "output_weights", "bias",
    "output_bias",
)  # fmt: skip


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


_FORMAT = ".weights.h5 file"


class KerasReader(Reader):
    """Reader for a .weights.h5 file, under Google's names."""

    def __init__(self, path: str):
        """Open a file; raise InputError if it is damaged, or has the layout of tf_model.h5."""
        self.description = path
        try:
            self._file = open_h5(path)
            names = _datasets(self._file)
            self._paths = {name: path for path, name in names.items() if name}
            self.shapes = {name: tuple(self._file[path].shape) for name, path in self._paths.items()}
        except DAMAGES as error:
            raise damage_error(path, _FORMAT, error) from None
        if LAYER_NAMES in self._file.attrs and not self._paths:
            raise InputError(
                f"{path}: has the older HDF5 layout of Keras; if transformers wrote it, call it {TF_MODEL} and put "
                "its config.json and vocab.txt next to it"
            )
        self.unused = [path for path, name in names.items() if name is None]

    def read(self, name: str) -> np.ndarray:
        """Return float32 values."""
        try:
            return np.asarray(self._file[self._paths[name]], np.float32)
        except DAMAGES as error:
            raise damage_error(self.description, _FORMAT, error) from None


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
