"""The scale for losses in float16."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.training.loss_scale import LossScale


@dataclasses.dataclass
class StoredTensors:
    """A checkpoint in memory."""

    tensors: dict

    @property
    def shapes(self) -> dict:
        return {name: np.shape(values) for name, values in self.tensors.items()}

    def read(self, name: str) -> np.ndarray:
        return np.array(self.tensors[name])


def loss_scale(scale: float, good_steps: int) -> LossScale:
    restored = LossScale()
    restored.restore(StoredTensors({"loss_scale": np.float32(scale), "loss_scale_good_steps": np.int32(good_steps)}))
    return restored


@pytest.mark.parametrize(
    ("scale", "good_steps", "is_finite", "expected"),
    [
        (8.0, 5, True, (8.0, 6)),
        (8.0, 1999, True, (16.0, 0)),
        (8.0, 5, False, (4.0, 0)),
        (1.0, 5, False, (1.0, 0)),
        (2.0**24, 1999, True, (2.0**24, 0)),
    ],
)
def test_updates(scale, good_steps, is_finite, expected):
    updated = loss_scale(scale, good_steps)
    updated.update(tf.constant(is_finite))
    assert tuple(updated.tensors().values()) == expected


def test_other_precisions_store_no_scale():
    new = LossScale()
    new.restore(StoredTensors({"global_step": np.int64(3)}))
    assert new.tensors() == {"loss_scale": 2.0**15, "loss_scale_good_steps": 0}
    assert float(new.current()) == 2.0**15
