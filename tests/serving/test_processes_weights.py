"""Shared weights: equal, read-only values without training state."""

import numpy as np
import pytest

from bert_cli.serving.processes import share
from bert_cli.weights import checkpoint
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.formats.checkpoint_writer import write_tf1
from bert_cli.weights.path import find_checkpoint


def test_a_shared_checkpoint_has_equal_read_only_values(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    tensors = {"output_weights": rng.normal(size=(3, 7)), "output_bias": rng.normal(size=3), "scalar": np.array(0.5)}
    tensors = {name: values.astype(np.float32) for name, values in tensors.items()}
    training_state = {"global_step": np.int64(7), "output_bias/adam_m": np.ones(3, np.float32)}
    write_tf1(str(tmp_path / "bert_model.ckpt"), tensors | training_state)
    path = find_checkpoint(str(tmp_path / "bert_model.ckpt"))
    monkeypatch.setattr(checkpoint, "_SHARED_READERS", {})
    share(path)
    shared = open_checkpoint(path)
    assert shared.read("global_step") == 7
    assert "output_bias/adam_m" not in shared.shapes
    for name, values in tensors.items():
        np.testing.assert_array_equal(shared.read(name), values)
        assert shared.shapes[name] == values.shape
    with pytest.raises(ValueError, match="read-only"):
        shared.read("output_weights")[0] = 1
