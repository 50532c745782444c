"""Training state in checkpoints, and its restoration in a resumed run."""

import os

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.training.checkpoints import save_checkpoint
from bert_cli.training.loss_scale import LossScale
from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.training.saved_state import restore_training
from tests.snapshots import raises
from tests.training_states import state_of

DATA = ".data-00000-of-00001"


@pytest.fixture
def folder(tmp_path) -> str:
    return str(tmp_path)


@pytest.fixture
def run():
    """Return variables, one of them without a gradient, and their optimizer after one update."""
    variables = {"bert/w": tf.Variable([[1.0, 2.0]]), "bert/pooler/bias": tf.Variable([3.0])}
    optimizer = AdamWeightDecay({"bert/w": variables["bert/w"]}, TrainingHyperparameters(10, 0, 0.1, 1, 0))
    optimizer.apply({"bert/w": tf.constant([[0.5, -0.5]])})
    return variables, optimizer


def test_names_and_types_in_a_training_checkpoint(run):
    tensors = state_of(*run, None)
    assert {name: (np.shape(value), value.dtype) for name, value in tensors.items()} == {
        "bert/w": ((1, 2), np.float32),
        "bert/w/adam_m": ((1, 2), np.float32),
        "bert/w/adam_v": ((1, 2), np.float32),
        "bert/pooler/bias": ((1,), np.float32),
        "global_step": ((), np.int64),
    }
    assert tensors["global_step"] == 1


def test_everything_is_restored(run, folder):
    variables, optimizer = run
    saved = state_of(variables, optimizer, None)
    prefix = save_checkpoint(folder, 1, saved, keep=1)
    variables["bert/pooler/bias"].assign([9.0])
    optimizer.apply({"bert/w": tf.constant([[0.5, -0.5]])})
    assert restore_training(prefix, variables, optimizer, None) == 1
    restored = state_of(variables, optimizer, None)
    for name, value in saved.items():
        np.testing.assert_allclose(restored[name], value, rtol=1e-7, err_msg=name)


@pytest.mark.parametrize("name", ["bert/pooler/bias", "bert/w/adam_v", "global_step"])
def test_incomplete_checkpoint(run, folder, name):
    tensors = state_of(*run, None)
    prefix = save_checkpoint(folder, 1, {key: tensors[key] for key in tensors if key != name}, keep=1)
    with raises(InputError, f"{prefix}: "):
        restore_training(prefix, *run, None)


def test_checkpoint_with_another_shape_changes_nothing(run, folder):
    variables, optimizer = run
    before = state_of(variables, optimizer, None)
    prefix = save_checkpoint(folder, 1, before | {"bert/w": np.zeros((2, 2), np.float32)}, keep=1)
    with raises(InputError, f"{prefix}: "):
        restore_training(prefix, variables, optimizer, None)
    after = state_of(variables, optimizer, None)
    assert all(np.array_equal(after[key], value) for key, value in before.items())


def test_damaged_checkpoint(run, folder):
    prefix = save_checkpoint(folder, 1, state_of(*run, None), keep=1)
    os.truncate(prefix + DATA, 5)
    with pytest.raises(InputError, match="damaged or cut short"):
        restore_training(prefix, *run, None)


def test_weights_without_moments_start_from_0(run, folder):
    variables, optimizer = run
    tensors = {name: value for name, value in state_of(*run, None).items() if "/adam_" not in name}
    prefix = save_checkpoint(folder, 1, tensors, keep=1)
    assert restore_training(prefix, variables, optimizer, None) == 1
    assert state_of(variables, optimizer, None)["bert/w/adam_m"].tolist() == [[0, 0]]


def test_the_loss_scale_belongs_to_the_state(run, folder):
    scale = LossScale()
    scale.update(tf.constant(False))
    prefix = save_checkpoint(folder, 1, state_of(*run, None, scale), keep=1)
    restored = LossScale()
    restore_training(prefix, *run, None, restored)
    assert float(restored.current()) == 2.0**14


def test_irregular_checkpoints_have_unrounded_numbers(run):
    tensors = state_of(*run, None, is_regular=False)
    assert tensors["bert/w/adam_v/unrounded"].shape == (1, 2)
