"""Checkpoint names in a training directory, and the file `checkpoint`."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.weights.training_folder import (
    check_no_index_lost,
    latest_checkpoint,
    numbered_checkpoints,
    repair_checkpoint_state,
    step_number,
    write_checkpoint_state,
)
from tests.snapshots import raises


@pytest.fixture
def folder(tmp_path):
    """Return a directory with the names of three checkpoints."""
    for step in (2, 10, 9):
        (tmp_path / f"model.ckpt-{step}.index").touch()
        (tmp_path / f"model.ckpt-{step}.data-00000-of-00001").touch()
    return tmp_path


def test_steps_are_sorted_as_numbers(folder):
    (folder / "model.ckpt-best.index").touch()
    assert numbered_checkpoints(str(folder)) == [2, 9, 10]


def test_the_state_file_names_the_newest(folder):
    assert latest_checkpoint(str(folder)) == f"{folder}/model.ckpt-10"
    write_checkpoint_state(str(folder), 9, [2, 9])
    assert (folder / "checkpoint").read_text() == (
        'model_checkpoint_path: "model.ckpt-9"\n'
        'all_model_checkpoint_paths: "model.ckpt-2"\n'
        'all_model_checkpoint_paths: "model.ckpt-9"\n'
    )
    assert latest_checkpoint(str(folder)) == f"{folder}/model.ckpt-9"


@pytest.mark.parametrize("state", [b"", b"\xff\xfe\0", b'model_checkpoint_path: "model.ckpt-77"\n'])
def test_a_damaged_state_file_is_ignored(folder, state):
    (folder / "checkpoint").write_bytes(state)
    assert latest_checkpoint(str(folder)) == f"{folder}/model.ckpt-10"


def test_a_moved_directory_keeps_its_newest(folder):
    (folder / "checkpoint").write_text('model_checkpoint_path: "/gone/model.ckpt-2"\n')
    assert latest_checkpoint(str(folder)) == f"{folder}/model.ckpt-2"


def test_repair_names_only_older_checkpoints(folder):
    repair_checkpoint_state(str(folder), f"{folder}/model.ckpt-9")
    assert 'all_model_checkpoint_paths: "model.ckpt-10"' not in (folder / "checkpoint").read_text()
    assert latest_checkpoint(str(folder)) == f"{folder}/model.ckpt-9"


def test_an_empty_directory_has_no_checkpoint(tmp_path):
    assert latest_checkpoint(str(tmp_path)) is None
    check_no_index_lost(str(tmp_path), "start over")


def test_data_without_index_are_reported(tmp_path):
    (tmp_path / "model.ckpt-4.data-00000-of-00001").touch()
    with raises(InputError, "model.ckpt-4.index: "):
        check_no_index_lost(str(tmp_path), "start over")


def test_step_number():
    assert step_number("/a/model.ckpt-12") == 12
    with raises(InputError, "/a/bert_model.ckpt: "):
        step_number("/a/bert_model.ckpt")
