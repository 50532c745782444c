"""Training checkpoints: files after a save or a failed save, and resuming."""

import contextlib
import os
import pathlib

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.training.checkpoints import save_checkpoint
from bert_cli.weights.formats.checkpoint_writer import write_tf1
from bert_cli.weights.training_folder import latest_checkpoint
from tests.snapshots import check_message, raises

resource = pytest.importorskip("resource")  # not on Windows

DATA = ".data-00000-of-00001"


def tensors_of(step: int) -> dict:
    return {"bert/w": np.full((3, 2), step, np.float32), "global_step": np.int64(step)}


def names_in(folder) -> list[str]:
    return sorted(os.listdir(folder))


def files_of(*steps: int) -> list[str]:
    return [f"model.ckpt-{step}{ending}" for step in steps for ending in (DATA, ".index")]


@pytest.fixture
def folder(tmp_path) -> str:
    return str(tmp_path)


def test_tensorflow_finds_the_saved_checkpoint(folder):
    for step in (10, 20, 30):
        prefix = save_checkpoint(folder, step, tensors_of(step), keep=2)
        assert prefix == os.path.join(folder, f"model.ckpt-{step}")
        assert latest_checkpoint(folder) == tf.train.latest_checkpoint(folder) == prefix
        assert tf.train.load_checkpoint(folder).get_tensor("bert/w").tolist() == [[step] * 2] * 3
    state = tf.train.get_checkpoint_state(folder)
    assert state.model_checkpoint_path == os.path.join(folder, "model.ckpt-30")
    assert list(state.all_model_checkpoint_paths) == [os.path.join(folder, f"model.ckpt-{step}") for step in (20, 30)]
    assert pathlib.Path(folder, "checkpoint").read_text() == (
        'model_checkpoint_path: "model.ckpt-30"\n'
        'all_model_checkpoint_paths: "model.ckpt-20"\n'
        'all_model_checkpoint_paths: "model.ckpt-30"\n'
    )


@pytest.mark.parametrize(
    ("keep", "kept"), [(1, [100]), (2, [9, 100]), (5, [2, 8, 9, 100]), (0, [2, 8, 9, 100]), (4, [2, 8, 9, 100])]
)
def test_newest_checkpoints_are_kept(folder, keep, kept):
    """Checkpoints are ordered by number, not by name: 100 comes after 9."""
    pathlib.Path(folder, "notes.txt").touch()
    for step in (2, 8, 9, 100):
        save_checkpoint(folder, step, tensors_of(step), keep)
    assert names_in(folder) == sorted(["checkpoint", "notes.txt", *files_of(*kept)])
    for step in kept:
        assert tf.train.load_checkpoint(f"{folder}/model.ckpt-{step}").get_tensor("global_step") == step


def test_moved_directory_still_names_its_checkpoint(tmp_path):
    (tmp_path / "before").mkdir()
    save_checkpoint(str(tmp_path / "before"), 3, tensors_of(3), keep=1)
    (tmp_path / "before").rename(tmp_path / "after")
    assert tf.train.latest_checkpoint(str(tmp_path / "after")) == str(tmp_path / "after" / "model.ckpt-3")


def test_checkpoints_have_usual_permissions(folder):
    pathlib.Path(folder, "plain").touch()
    save_checkpoint(folder, 3, tensors_of(3), keep=1)
    modes = {name: oct(os.stat(os.path.join(folder, name)).st_mode & 0o777) for name in names_in(folder)}
    assert set(modes.values()) == {modes["plain"]}, modes


def test_exception_keeps_the_old_state(folder):
    save_checkpoint(folder, 1, tensors_of(1), keep=1)
    before = names_in(folder)
    with pytest.raises((TypeError, ValueError)):
        save_checkpoint(folder, 2, tensors_of(2) | {"bad": object()}, keep=1)
    assert names_in(folder) == before == ["checkpoint", *files_of(1)]
    assert tf.train.latest_checkpoint(folder).endswith("model.ckpt-1")


@contextlib.contextmanager
def full_disk():
    """Limit files of this process to 4 kB."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


LARGE = {"bert/w": np.ones((100, 100), np.float32), "global_step": np.int64(2)}


def test_full_disk_keeps_the_old_state(folder):
    save_checkpoint(folder, 1, tensors_of(1), keep=1)
    with pytest.raises(Exception, match=r"File too large|model\.ckpt-2"), full_disk():
        save_checkpoint(folder, 2, LARGE, keep=1)
    assert names_in(folder) == ["checkpoint", *files_of(1)]
    assert tf.train.load_checkpoint(folder).get_tensor("global_step") == 1


def test_full_disk_is_reported_in_one_line(folder):
    with pytest.raises(InputError) as caught, full_disk():
        save_checkpoint(folder, 2, LARGE, keep=1)
    check_message(caught, f"{folder}/model.ckpt-2: ")
    assert "\n" not in str(caught.value)


def test_missing_directory_is_reported_in_one_line(folder):
    with raises(InputError, f"{folder}/gone/model.ckpt-2: "):
        save_checkpoint(f"{folder}/gone", 2, tensors_of(2), keep=1)


def test_interrupted_save_is_ignored(folder):
    """The save stopped between data file and index, which makes a checkpoint visible."""
    save_checkpoint(folder, 1, tensors_of(1), keep=1)
    write_tf1(f"{folder}/model.ckpt-2", tensors_of(2))
    os.remove(f"{folder}/model.ckpt-2.index")
    assert latest_checkpoint(folder) == f"{folder}/model.ckpt-1"
    save_checkpoint(folder, 2, tensors_of(2), keep=1)
    assert names_in(folder) == ["checkpoint", *files_of(2)]
    assert tf.train.load_checkpoint(folder).get_tensor("global_step") == 2
