"""Weights that several processes share: read once, kept in one file in memory, mapped by each."""

import tempfile

import numpy as np

from bert_cli.weights.checkpoint import open_checkpoint, register_shared
from bert_cli.weights.names import STEP_NAME, is_of_training
from bert_cli.weights.path import CheckpointPath
from bert_cli.weights.reader import Reader

_ALIGNMENT = 64  # bytes, as vector instructions read them


class SharedReader(Reader):
    """A Reader of a checkpoint whose float32 values are mapped from one file; others are copied."""

    def __init__(self, reader: Reader):
        self.description = reader.description
        self._reader = reader
        self.unused = reader.unused
        names = [name for name in reader.shapes if name == STEP_NAME or not is_of_training(name)]
        self.shapes = {name: reader.shapes[name] for name in names}
        self._arrays: dict[str, np.ndarray] = {}
        places: dict[str, tuple[int, tuple[int, ...]]] = {}
        end = 0
        # Without a name in any folder: it is gone with the last process.
        with tempfile.TemporaryFile() as file:
            for name in names:
                values = np.asarray(reader.read(name))
                if values.dtype != np.float32:
                    self._arrays[name] = values
                    continue
                places[name] = end, values.shape
                file.seek(end)
                file.write(values.tobytes())
                end += -(-values.nbytes // _ALIGNMENT) * _ALIGNMENT
            file.truncate(max(end, 1))
            file.flush()
            mapped = np.memmap(file, np.uint8, "r")
        for name, (place, shape) in places.items():
            size = 4 * int(np.prod(shape))
            self._arrays[name] = np.asarray(mapped[place : place + size].view(np.float32).reshape(shape))

    def read(self, name: str) -> np.ndarray:
        """The values; not to be written to."""
        return self._arrays[name]

    def check_tied(self) -> None:
        """See Reader."""
        self._reader.check_tied()


def share(checkpoint: CheckpointPath) -> None:
    """Read a checkpoint now, so that this process and those that are forked from it later share its
    weights.
    """
    register_shared(checkpoint, SharedReader(open_checkpoint(checkpoint)))
