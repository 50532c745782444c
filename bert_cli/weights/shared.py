"""Sharing weights between processes through a memory-mapped file."""

import tempfile

import numpy as np

from bert_cli.weights.checkpoint import open_checkpoint, register_shared
from bert_cli.weights.path import CheckpointPath
from bert_cli.weights.variables import STEP_NAME, Reader, is_training_state

# Bytes; vector instructions need this alignment.
_ALIGNMENT = 64


class SharedReader(Reader):
    """Reader that maps float32 values from a temporary file; other values are copied."""

    def __init__(self, reader: Reader):
        """Copy all weights from another reader."""
        self.description = reader.description
        self._reader = reader
        self.unused = reader.unused
        names = [name for name in reader.shapes if name == STEP_NAME or not is_training_state(name)]
        self.shapes = {name: reader.shapes[name] for name in names}
        self._arrays: dict[str, np.ndarray] = {}
        positions: dict[str, tuple[int, tuple[int, ...]]] = {}
        end = 0
        # Use a file without a name: it disappears when the last process ends.
        with tempfile.TemporaryFile() as file:
            for name in names:
                values = np.asarray(reader.read(name))
                if values.dtype != np.float32:
                    self._arrays[name] = values
                    continue
                positions[name] = end, values.shape
                file.seek(end)
                file.write(values.tobytes())
                end += -(-values.nbytes // _ALIGNMENT) * _ALIGNMENT
            file.truncate(max(end, 1))
            file.flush()
            mapped = np.memmap(file, np.uint8, "r")
        for name, (start, shape) in positions.items():
            size = 4 * int(np.prod(shape))
            self._arrays[name] = np.asarray(mapped[start : start + size].view(np.float32).reshape(shape))

    def read(self, name: str) -> np.ndarray:
        """Return the values, which must not be changed."""
        return self._arrays[name]

    def check_tied(self) -> None:
        """Check the masked LM's output matrix (see Reader)."""
        self._reader.check_tied()


def share(checkpoint: CheckpointPath) -> None:
    """Read a checkpoint, and share its weights with processes that are forked later."""
    register_shared(checkpoint, SharedReader(open_checkpoint(checkpoint)))
