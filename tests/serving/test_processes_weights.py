"""Shared weights: equal, read-only values without training state."""

import pathlib

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.serving.processes import SharedCheckpoints
from bert_cli.weights.checkpoint import Tf1Reader, open_checkpoint
from bert_cli.weights.formats.checkpoint_writer import write_tf1
from bert_cli.weights.path import CheckpointPath, find_checkpoint


@pytest.fixture
def checkpoint(tmp_path) -> CheckpointPath:
    """A checkpoint with one weight."""
    prefix = str(tmp_path / "bert_model.ckpt")
    write_tf1(prefix, {"output_bias": np.zeros(3, np.float32)})
    return find_checkpoint(prefix)


def test_a_shared_checkpoint_has_equal_read_only_values(tmp_path):
    rng = np.random.default_rng(0)
    tensors = {"output_weights": rng.normal(size=(3, 7)), "output_bias": rng.normal(size=3), "scalar": np.array(0.5)}
    tensors = {name: values.astype(np.float32) for name, values in tensors.items()}
    training_state = {"global_step": np.int64(7), "output_bias/adam_m": np.ones(3, np.float32)}
    path = str(tmp_path / "bert_model.ckpt")
    write_tf1(path, tensors | training_state)
    shared = open_checkpoint(SharedCheckpoints({path: find_checkpoint(path)}).find(path))
    assert isinstance(shared.format_reader, Tf1Reader)
    assert shared.read("global_step") == 7
    assert "output_bias/adam_m" not in shared.shapes
    for name, values in tensors.items():
        np.testing.assert_array_equal(shared.read(name), values)
        assert shared.shapes[name] == values.shape
    with pytest.raises(ValueError, match="read-only"):
        shared.read("output_weights")[0] = 1


def test_a_checkpoint_is_read_once_for_several_models(checkpoint):
    shared = SharedCheckpoints({"a": checkpoint, "b": checkpoint})
    readers = [shared.find(checkpoint.location).opened for _ in range(2)]
    assert readers[0] is readers[1] is not None


def test_other_and_changed_files_are_not_shared(checkpoint, tmp_path):
    shared = SharedCheckpoints({checkpoint.location: checkpoint})
    write_tf1(str(tmp_path / "newer.ckpt"), {"output_bias": np.ones(3, np.float32)})
    assert shared.find(str(tmp_path / "newer.ckpt")).opened is None
    write_tf1(checkpoint.location, {"output_bias": np.ones(4, np.float32)})
    changed = shared.find(checkpoint.location)
    assert changed == checkpoint
    np.testing.assert_array_equal(open_checkpoint(changed).read("output_bias"), np.ones(4))


def test_the_weights_in_memory_replace_files_that_cannot_be_read(checkpoint, caplog):
    shared = SharedCheckpoints({checkpoint.location: checkpoint})
    pathlib.Path(f"{checkpoint.location}.index").unlink()
    found = shared.find(checkpoint.location)
    assert found.opened is not None
    np.testing.assert_array_equal(open_checkpoint(found).read("output_bias"), np.zeros(3))
    with pytest.raises(InputError):
        shared.find("elsewhere.ckpt")
