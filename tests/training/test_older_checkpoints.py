"""Older checkpoints lose their moments, and an interruption never damages a checkpoint."""

import os
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.training.checkpoints import save_checkpoint
from bert_cli.training.older_checkpoints import drop_older_moments
from bert_cli.weights.checkpoint import AverageReader, Tf1Reader
from bert_cli.weights.path import find_checkpoint
from bert_cli.weights.training_folder import latest_checkpoint, newest_to_train
from tests.snapshots import check_message

SHAPE = (3, 2)


def tensors_of(step: int) -> dict:
    """Return the tensors that a stop signal saves, with unrounded numbers."""
    names = ("bert/w", "bert/w/adam_m", "bert/w/adam_v", "bert/w/adam_v/unrounded")
    weights = {name: np.full(SHAPE, step + number, np.float32) for number, name in enumerate(names)}
    return weights | {"log_decay": np.float32(-1), "global_step": np.int64(step), "input_position": np.int64([step, 7])}


def save(folder: str, step: int, keep: int = 3) -> None:
    save_checkpoint(folder, step, tensors_of(step), keep)
    drop_older_moments(folder, step)


def files_in(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()}


@pytest.fixture
def folder(tmp_path) -> str:
    (tmp_path / "run").mkdir()
    return str(tmp_path / "run")


def test_newest_checkpoint_has_moments_and_older_ones_only_weights(folder, tmp_path):
    for step in (10, 20, 30):
        save(folder, step)
    assert Tf1Reader(f"{folder}/model.ckpt-30").shapes.keys() == tensors_of(30).keys()
    for step in (10, 20):
        reader = tf.train.load_checkpoint(f"{folder}/model.ckpt-{step}")
        assert set(reader.get_variable_to_shape_map()) == {"bert/w", "global_step", "input_position"}
        assert reader.get_tensor("bert/w").tolist() == np.full(SHAPE, step).tolist()
        assert reader.get_tensor("global_step") == step
    (tmp_path / "one").mkdir()
    save_checkpoint(str(tmp_path / "one"), 30, tensors_of(30), keep=1)
    alone = files_in(tmp_path / "one").items()  # the newest checkpoint is bitwise unchanged
    assert {name: content for name, content in alone if name != "checkpoint"}.items() <= files_in(folder).items()
    assert sorted(name for name in files_in(folder) if not name.startswith("model.ckpt-")) == ["checkpoint"]


def test_several_older_checkpoints_lose_their_moments_together(folder):
    """A run with --keep_moments=all may leave several such checkpoints."""
    for step in (10, 20, 30):
        save_checkpoint(folder, step, tensors_of(step), keep=0)
    drop_older_moments(folder, 30)
    assert ["bert/w/adam_m" in Tf1Reader(f"{folder}/model.ckpt-{step}").shapes for step in (10, 20, 30)] == [0, 0, 1]


@pytest.fixture
def states(folder, tmp_path, monkeypatch) -> list[str]:
    """Return copies of the directory before and after each file operation of a save with two older checkpoints."""
    save(folder, 10)
    save(folder, 20)
    copies: list[str] = []

    def watched(operation):
        def call(*arguments, **keywords):
            copies.append(shutil.copytree(folder, tmp_path / f"copy-{len(copies)}"))
            actual = operation(*arguments, **keywords)
            copies.append(shutil.copytree(folder, tmp_path / f"copy-{len(copies)}"))
            return actual

        return call

    with monkeypatch.context() as patch:
        for name in ("replace", "link", "fsync"):
            patch.setattr(os, name, watched(getattr(os, name)))
        # copytree does not remove files.
        patch.setattr(os, "remove", watched(os.remove))
        save(folder, 30)
    assert len(copies) > 20
    return list(map(str, copies))


def test_interrupted_save_damages_no_checkpoint(states, folder):
    """All checkpoints are readable, the run resumes with moments, and the next save has the usual result."""
    expected = files_in(folder)
    newest = set()
    for state in states:
        actual = latest_checkpoint(state)
        newest.add(os.path.basename(actual))
        assert actual == tf.train.latest_checkpoint(state) == newest_to_train(state, strict=True)
        step = int(actual[-2:])
        reader = tf.train.load_checkpoint(actual)
        for name, value in tensors_of(step).items():
            np.testing.assert_array_equal(reader.get_tensor(name), value, err_msg=state)
        average = AverageReader(find_checkpoint(actual), step // 10)
        np.testing.assert_array_equal(average.read("bert/w"), np.full(SHAPE, {20: 15, 30: 20}[step], np.float32))
        for older in range(10, step, 10):
            assert tf.train.load_checkpoint(f"{state}/model.ckpt-{older}").get_tensor("bert/w")[0, 0] == older
        save(state, 30)
        hidden = [name for name in os.listdir(state) if name.startswith(".writing-")]
        for name in hidden:
            path = pathlib.Path(state, name)
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        assert files_in(state) == expected, state
    assert newest == {"model.ckpt-20", "model.ckpt-30"}


def test_files_from_an_interruption_are_deleted_with_their_checkpoint(states):
    assert any(os.path.exists(f"{state}/model.ckpt-20.data-00000-of-00002") for state in states)
    for state in states:
        save_checkpoint(state, 40, tensors_of(40), keep=1)
        assert not [name for name in os.listdir(state) if name.startswith("model.ckpt-20")]


def test_file_system_without_hard_links(folder, monkeypatch):
    def no_links(*arguments):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    save(folder, 10)
    save(folder, 20)
    assert "bert/w/adam_m" not in Tf1Reader(f"{folder}/model.ckpt-10").shapes
    assert len(files_in(folder)) == 5


def test_users_hard_link_keeps_its_moments(folder, tmp_path):
    save(folder, 10)
    for name in ("model.ckpt-10.index", "model.ckpt-10.data-00000-of-00001"):
        os.link(f"{folder}/{name}", tmp_path / name)
    save(folder, 20)
    assert Tf1Reader(str(tmp_path / "model.ckpt-10")).read("bert/w/adam_m")[0, 0] == 11


def test_checkpoint_with_another_step_is_not_from_this_run(folder):
    save_checkpoint(folder, 10, tensors_of(10) | {"global_step": np.int64(999)}, keep=3)
    before = files_in(folder)
    save(folder, 20)
    assert {name: content for name, content in files_in(folder).items() if "ckpt-10" in name} == {
        name: content for name, content in before.items() if "ckpt-10" in name
    }


def test_damaged_older_checkpoint_is_unchanged(folder, caplog):
    """The damaged data must not get a correct checksum."""
    save(folder, 10)
    data = pathlib.Path(folder, "model.ckpt-10.data-00000-of-00001")
    data.write_bytes(b"\xff" + data.read_bytes()[1:])
    damaged = data.read_bytes()
    save(folder, 20)
    save(folder, 30)
    assert data.read_bytes() == damaged
    assert [record.message for record in caplog.records if "model.ckpt-10" in record.message] == [
        f"warning: {folder}/model.ckpt-10: this checkpoint is damaged or cut short (the checksum of bert/w in "
        "model.ckpt-10.data-00000-of-00001 is wrong); download or copy it again; until then it stays as it is"
    ]
    assert "bert/w/adam_m" not in Tf1Reader(f"{folder}/model.ckpt-20").shapes


def test_full_disk_keeps_moments_and_training(folder, monkeypatch, caplog):
    save(folder, 10)
    save_checkpoint(folder, 20, tensors_of(20), keep=3)

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bert_cli.training.older_checkpoints.write_checked", full)
    drop_older_moments(folder, 20)
    assert Tf1Reader(f"{folder}/model.ckpt-10").read("bert/w/adam_m")[0, 0] == 11
    check_message(caplog, folder)
    monkeypatch.undo()
    save(folder, 30)
    assert "bert/w/adam_m" not in Tf1Reader(f"{folder}/model.ckpt-10").shapes


def test_remote_directory():
    folder = "ram://older_checkpoints"
    tf.io.gfile.makedirs(folder)
    for step in (10, 20):
        save(folder, step)
    assert sorted(tf.io.gfile.listdir(folder)) == [
        "checkpoint",
        *(f"model.ckpt-{step}{end}" for step in (10, 20) for end in (".data-00000-of-00001", ".index")),
    ]
    assert "bert/w/adam_m" not in Tf1Reader(f"{folder}/model.ckpt-10").shapes
    assert Tf1Reader(f"{folder}/model.ckpt-10").read("bert/w")[0, 0] == 10
