"""Configuration and directories for NVIDIA's Triton Inference Server."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from bert_cli.base.writing import atomic_write

TRITON_CONFIG = "config.pbtxt"
VERSION = "1"  # the model's only version, a directory
# Export format -> backend, and the name that it expects in a version's directory.
_BACKENDS = {
    "onnx": ('backend: "onnxruntime"', "model.onnx"),
    "saved_model": ('platform: "tensorflow_savedmodel"', "model.savedmodel"),
}
# Such a batch with 512 tokens per text fits into a small GPU's memory.
_MAX_BATCH_SIZE = 64
_VARIABLE = -1


class Tensor(NamedTuple):
    """An exported model's input or output.

    Attributes:
        name: its name.
        data_type: its type's name in NumPy, or "string".
        shape: its shape without the batch; None for a variable size.
    """

    name: str
    data_type: str
    shape: Sequence[int | None]

    def describe(self) -> str:
        """Return the entry of a ModelConfig."""
        sizes = ", ".join(str(_VARIABLE if size is None else size) for size in self.shape)
        # Triton has no tensors without dimensions besides the batch, so a single value has one.
        dims = f"dims: [ {sizes} ]" if self.shape else "dims: [ 1 ] reshape { shape: [ ] }"
        return f'  {{ name: "{self.name}" data_type: {_TYPES[self.data_type]} {dims} }}'


_TYPES = {"int32": "TYPE_INT32", "int64": "TYPE_INT64", "float32": "TYPE_FP32", "string": "TYPE_STRING"}


def model_path(folder: str, export_format: str) -> str:
    """Return the path to a model in Triton's layout.

    Args:
        folder: the directory that is named like the model.
        export_format: a key of _BACKENDS.
    """
    return os.path.join(folder, VERSION, _BACKENDS[export_format][1])


def write_triton_config(folder: str, export_format: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
    """Write the configuration (TRITON_CONFIG).

    Args:
        folder: the directory that is named like the model.
        export_format: a key of _BACKENDS.
    """
    lines = [_BACKENDS[export_format][0], f"max_batch_size: {_MAX_BATCH_SIZE}"]
    for title, tensors in (("input", inputs), ("output", outputs)):
        lines += [f"{title} [", ",\n".join(tensor.describe() for tensor in tensors), "]"]
    # Requests with equal lengths form a batch if the model is busy.
    lines.append("dynamic_batching { }")
    with atomic_write(os.path.join(folder, TRITON_CONFIG)) as file:
        file.write("\n".join(lines) + "\n")
