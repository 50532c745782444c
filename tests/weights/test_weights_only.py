"""Copies of a checkpoint without the optimizer's moments."""

import numpy as np

from bert_cli.weights.checkpoint import Tf1Reader
from bert_cli.weights.formats.checkpoint_writer import write_tf1
from bert_cli.weights.weights_only import read_weights_only

WEIGHTS = {"bert/pooler/dense/bias": np.arange(3, dtype=np.float32), "output_bias": np.ones(2, np.float32)}
MOMENTS = {f"{name}/{moment}": -values for name, values in WEIGHTS.items() for moment in ("adam_m", "adam_v")}
STATE = MOMENTS | {"loss_scale": np.float32(8), "log_decay": np.float64(0)}


def test_moments_are_left_out_and_weights_stay(tmp_path):
    write_tf1(str(tmp_path / "model.ckpt-7"), WEIGHTS | STATE | {"global_step": np.int64(7)})
    contents = read_weights_only(str(tmp_path / "model.ckpt-7"))
    (tmp_path / "copy").mkdir()
    for name, content in contents.items():
        (tmp_path / "copy" / name).write_bytes(content)
    reader = Tf1Reader(str(tmp_path / "copy" / "model.ckpt-7"))
    assert reader.shapes.keys() == {*WEIGHTS, "global_step"}
    for name, values in WEIGHTS.items():
        np.testing.assert_array_equal(reader.read(name), values)
    assert reader.read("global_step") == 7


def test_a_checkpoint_without_moments_needs_no_copy(tmp_path):
    write_tf1(str(tmp_path / "model.ckpt"), WEIGHTS)
    assert read_weights_only(str(tmp_path / "model.ckpt")) is None
