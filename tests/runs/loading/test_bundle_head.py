"""A trained head's labels, and other facts in the files next to a checkpoint."""

import pytest
from bert_cli.runs.loading.bundle import HeadFiles, ModelPaths, read_labels

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import FIRST, POOLED
from bert_cli.weights.path import TF1, CheckpointPath
from tests.snapshots import raises


@pytest.fixture
def checkpoint(tmp_path) -> CheckpointPath:
    return CheckpointPath(TF1, str(tmp_path / "model.ckpt-1"))


def head_of(checkpoint: CheckpointPath) -> HeadFiles:
    return HeadFiles(ModelPaths(None, None, checkpoint), num_hidden_layers=2)


def test_labels_have_the_order_of_their_file(checkpoint, tmp_path):
    assert read_labels(checkpoint) is None
    (tmp_path / "labels.txt").write_text("good\nbad\n\n")
    assert read_labels(checkpoint) == head_of(checkpoint).labels == ("good", "bad")


def test_an_empty_list_of_labels_is_refused(checkpoint, tmp_path):
    (tmp_path / "labels.txt").touch()
    with raises(InputError, "labels.txt: "):
        read_labels(checkpoint)


def test_flags_of_the_training_run(checkpoint, tmp_path):
    (tmp_path / "flags.txt").write_text(
        "--head_input=cls\n--layers=-1,0\n--task_name=cola\n--problem_type=regression\n"
    )
    head = head_of(checkpoint)
    assert head.text_input is FIRST
    assert head.layers == (-1, 0)
    assert head.named_problem_type.name == "single_label"  # CoLA's


def test_other_programs_write_no_flags(checkpoint):
    head = head_of(checkpoint)
    assert head.paths.saved_flags == {}
    assert (head.text_input, head.layers, head.named_problem_type) == (POOLED, (-1,), None)
