"""Reader for a safetensors file, or for several shards with an index; writer for one file."""

import json
import math
import mmap
import os
from collections.abc import Mapping

import ml_dtypes
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.files import exists, make_local, open_binary
from bert_cli.base.json_files import expect_member, read_json_object
from bert_cli.base.names import SAFETENSORS_INDEX
from bert_cli.base.writing import follow_umask

_DOWNLOAD = "download the model again"
# A longer file is not a server's error message that was saved as a file.
_MAX_REPLY_BYTES = 200
# Names of dtypes in the header. safetensors itself reads all others.
_DTYPES = {"F32": np.dtype(np.float32), "F16": np.dtype(np.float16), "BF16": np.dtype(ml_dtypes.bfloat16)}


def write_tensors(path: str, tensors: Mapping[str, np.ndarray]) -> None:
    """Write tensors by name into a file.

    Raises:
        InputError: if the file cannot be written.
    """
    # Make them contiguous: safetensors ignores strides.
    contiguous = {name: np.ascontiguousarray(values) for name, values in tensors.items()}
    # Set the metadata "format", because transformers refuses a file without it.
    try:
        save_file(contiguous, path, metadata={"format": "pt"})
        # Set the permissions: safetensors 0.8 renames a private temporary file.
        follow_umask(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: cannot be written: {error}") from None


class SafetensorsFiles:
    """Tensors in a safetensors file or in shards; `read` loads them lazily.

    Attributes:
        description: path to the file or the index.
        shapes: shapes by stored name.
    """

    def __init__(self, path: str):
        """Open a file, or the shards in an index.

        Raises:
            InputError: if a file is damaged, or if a shard is missing, is outside the directory, or
                does not have the tensors in the index.
        """
        self.description = path
        self.shapes: dict[str, tuple[int, ...]] = {}
        shard_of = _read_index(path) if os.path.basename(path) == SAFETENSORS_INDEX else {}
        folder = os.path.dirname(path)
        paths = [os.path.join(folder, shard) for shard in sorted(set(shard_of.values()))] or [path]
        self._files: dict[str, safe_open] = {}
        self._mapped: dict[str, np.ndarray] = {}
        for shard_path in paths:
            local_path, file = _open(shard_path, path)
            self._mapped |= _map(local_path)
            for name in file.keys():  # noqa: SIM118 (safe_open is no dict)
                refuse_if(name in self._files, f"{path}: two shards have the tensor {name}; {_DOWNLOAD}")
                self._files[name] = file
                self.shapes[name] = tuple(file.get_slice(name).get_shape())
        for name, shard in shard_of.items():
            refuse_if(name not in self._files, f"{path}: lists {name} in {shard}, which does not have it; {_DOWNLOAD}")

    def read(self, name: str) -> np.ndarray:
        """Return a tensor in its stored dtype.

        It is a read-only view of the file, so copy it to use it for longer than the call. get_tensor
        copies, too, but with Python's lock.
        """
        return self._mapped[name] if name in self._mapped else self._files[name].get_tensor(name)


def _open(path: str, listed_in: str) -> tuple[str, safe_open]:
    """Open and check a file, and return its local path, too.

    Args:
        path: the file.
        listed_in: the index that lists this file, or the file itself.
    """
    if path != listed_in and not exists(path):
        raise InputError(f"{listed_in}: lists {os.path.basename(path)}, which is not there; download it, too")
    try:
        local_path = make_local(path)
        return local_path, safe_open(local_path, framework="np")
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path}: is an incomplete or damaged safetensors file: {error}{_saved_reply(path)}") from None


def _map(path: str) -> dict[str, np.ndarray]:
    """Return views of a file's tensors in common dtypes. The file must have passed `_open`."""
    with open(path, "rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    start = 8 + int.from_bytes(content[:8], "little")
    views = {}
    for name, entry in json.loads(content[8:start]).items():
        dtype = _DTYPES.get(entry.get("dtype"))
        if dtype and math.prod(entry["shape"]):
            offset = start + entry["data_offsets"][0]
            views[name] = np.frombuffer(content, dtype, math.prod(entry["shape"]), offset).reshape(entry["shape"])
    return views


def _saved_reply(path: str) -> str:
    """Return a short file's text, such as a server's "Entry not found", for a message."""
    if not exists(path):
        return ""
    with open_binary(path) as file:
        content = file.read(_MAX_REPLY_BYTES + 1)
    text = content.decode("ascii", "replace").strip()
    is_text = bool(text) and len(content) <= _MAX_REPLY_BYTES and text.isprintable() and "\ufffd" not in text
    return f'; it holds the text "{text}": {_DOWNLOAD}' if is_text else ""


def _read_index(path: str) -> dict[str, str]:
    """Return each tensor's shard as a file name."""
    weight_map = expect_member(read_json_object(path, _DOWNLOAD), "weight_map", dict, path, _DOWNLOAD)
    refuse_if(not weight_map, f"{path}: lists no tensor; {_DOWNLOAD}")
    for name, shard in weight_map.items():
        # Accept only names in the same directory, because an index may be untrusted.
        is_file_name = isinstance(shard, str) and not set(shard) & set("/\\\0") and shard.endswith(".safetensors")
        refuse_if(
            not is_file_name,
            f"{path}: lists {shard!r} for {name}, which is not the name of a safetensors file in its directory",
        )
    return weight_map
