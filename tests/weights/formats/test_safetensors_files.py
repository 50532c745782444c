"""Safetensors in a file or in shards, and messages for an inconsistent index."""

import json

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from bert_cli.base.errors import InputError
from bert_cli.weights.formats.safetensors_files import SafetensorsFiles
from tests.snapshots import raises

A, B = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1.5, -0.0], np.float16)
FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


@pytest.fixture
def index(tmp_path):
    """Return a function that writes an index next to two shards and returns its path."""
    save_file({"a": A}, tmp_path / FIRST)
    save_file({"b": B}, tmp_path / SECOND)

    def write(weight_map: object, text: str | None = None) -> str:
        path = tmp_path / "model.safetensors.index.json"
        path.write_text(text or json.dumps({"metadata": {"total_size": 28}, "weight_map": weight_map}))
        return str(path)

    return write


def test_shards_are_one_model(index):
    tensors = SafetensorsFiles(index({"b": SECOND, "a": FIRST}))
    assert tensors.shapes == {"a": (2, 3), "b": (2,)}
    assert tensors.read("a").tobytes() == A.tobytes()
    assert (tensors.read("b").tobytes(), tensors.read("b").dtype) == (B.tobytes(), np.float16)


def test_tensors_of_any_shape_and_dtype(tmp_path):
    path = str(tmp_path / "model.safetensors")
    arrays = {
        "scalar": np.array(1.5, np.float32),
        "empty": np.zeros((0, 2), np.float32),
        "bfloat16": np.array([[1, 2]], ml_dtypes.bfloat16),
        "int64": np.array([3], np.int64),
    }
    save_file(arrays, path)
    tensors = SafetensorsFiles(path)
    for name, expected in arrays.items():
        values = tensors.read(name)
        assert (values.dtype, values.shape, values.tobytes()) == (expected.dtype, expected.shape, expected.tobytes())


def test_one_file_has_no_index(tmp_path):
    save_file({"a": A}, tmp_path / "model.safetensors")
    assert SafetensorsFiles(str(tmp_path / "model.safetensors")).shapes == {"a": (2, 3)}


def test_a_missing_shard_is_named(index, tmp_path):
    path = index({"a": FIRST, "b": SECOND})
    (tmp_path / SECOND).unlink()
    with raises(InputError, f"{path}: "):
        SafetensorsFiles(path)


@pytest.mark.parametrize(
    "shard",
    ["../model.safetensors", "/etc/model.safetensors", "sub/m.safetensors", "..\\m.safetensors", "..", "", "a.bin", 3, None],
)  # fmt: skip
def test_an_index_only_names_files_in_its_directory(index, shard):
    with raises(InputError):
        SafetensorsFiles(index({"a": FIRST, "b": shard}))


def test_a_tensor_in_two_shards(index, tmp_path):
    save_file({"a": A, "b": B}, tmp_path / SECOND)
    with raises(InputError, "index.json: "):
        SafetensorsFiles(index({"a": FIRST, "b": SECOND}))


def test_a_tensor_that_its_shard_lacks(index):
    with raises(InputError, SECOND):
        SafetensorsFiles(index({"a": FIRST, "b": SECOND, "c": SECOND}))


@pytest.mark.parametrize("text", ['{"weight_map": {}}', "{}", '{"weight_map": ["a"]}', "[]", "{"])
def test_damaged_indexes(index, text):
    with raises(InputError):
        SafetensorsFiles(index(None, text))


def test_a_cut_shard_is_named(index, tmp_path):
    (tmp_path / SECOND).write_bytes(b"\x00\x01")
    with raises(InputError, f"{SECOND}: "):
        SafetensorsFiles(index({"a": FIRST, "b": SECOND}))


@pytest.mark.parametrize("text", ["Entry not found", '{"error":"Repository not found"}\n'])
def test_a_server_error_saved_as_a_file(tmp_path, text):
    path = tmp_path / "model.safetensors"
    path.write_text(text)
    with raises(InputError, text.strip()):
        SafetensorsFiles(str(path))


def test_a_pointer_of_git_lfs_as_a_shard(index, tmp_path):
    (tmp_path / FIRST).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    with raises(InputError, f"{FIRST}: "):
        SafetensorsFiles(index({"a": FIRST, "b": SECOND}))
