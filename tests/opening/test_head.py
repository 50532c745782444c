"""A trained head's labels, and other facts in the files next to a checkpoint."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import FIRST, POOLED
from bert_cli.opening.head import HeadFiles, find_twin
from bert_cli.opening.paths import ModelPaths
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.regression import REGRESSION
from bert_cli.weights.path import CheckpointPath
from tests.house_figures import HOUSE
from tests.snapshots import raises


def head_of(checkpoint: CheckpointPath) -> HeadFiles:
    return HeadFiles(ModelPaths(None, None, checkpoint), num_hidden_layers=2)


def test_labels_have_the_order_of_their_file(checkpoint, tmp_path):
    assert head_of(checkpoint).labels is None
    (tmp_path / "labels.txt").write_text("good\nbad\n\n")
    assert head_of(checkpoint).labels == ("good", "bad")


def test_an_empty_list_of_labels_is_refused(checkpoint, tmp_path):
    (tmp_path / "labels.txt").touch()
    with raises(InputError, "labels.txt: "):
        _ = head_of(checkpoint).labels


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


@pytest.fixture
def head(checkpoint, tmp_path) -> HeadFiles:
    """Return a head with three labels."""
    (tmp_path / "labels.txt").write_text("good\nbad\nother\n")
    return head_of(checkpoint)


def test_names_come_from_the_flag_the_file_or_the_task(head, checkpoint, tmp_path):
    names = ("good", "bad", "other")
    assert head.label_names(SINGLE_LABEL) == head.label_names(MULTI_LABEL, names, "cola") == names
    (tmp_path / "labels.txt").unlink()
    assert head_of(checkpoint).label_names(SINGLE_LABEL) is None
    assert head_of(checkpoint).label_names(SINGLE_LABEL, names) == names
    assert head_of(checkpoint).label_names(SINGLE_LABEL, task_name="cola") == ("0", "1")
    assert head_of(checkpoint).label_names(REGRESSION, task_name="sts-b") == ()


def test_other_names_than_in_the_files_are_refused_unless_they_may_rename(head, tmp_path):
    expected = f"^--labels=a,b,c: the model in {tmp_path} was trained with good,bad,other, in this order"
    with pytest.raises(InputError, match=expected):
        head.label_names(SINGLE_LABEL, ("a", "b", "c"))
    assert head.label_names(SINGLE_LABEL, ("a", "b", "c"), may_rename=True) == ("a", "b", "c")


def test_a_number_has_no_names(head):
    assert head.label_names(REGRESSION) == ()
    with raises(InputError, "--labels: "):
        head.label_names(REGRESSION, ("a",))


@pytest.mark.parametrize("problem_type", [None, SINGLE_LABEL, MULTI_LABEL])
def test_a_name_that_occurs_twice_is_refused_with_its_outputs(checkpoint, tmp_path, problem_type):
    (tmp_path / "labels.txt").write_text("other\nsport\nother\n")
    head = head_of(checkpoint)
    with raises(InputError):
        head.label_names(problem_type)
    assert head.label_names(problem_type, ("a", "b", "c")) == ("a", "b", "c")
    with raises(InputError):
        head.label_names(problem_type, ("a", "a", "c"))


def test_one_label_is_no_choice(checkpoint, tmp_path):
    (tmp_path / "labels.txt").write_text("good\n")
    with raises(InputError):
        head_of(checkpoint).label_names(SINGLE_LABEL)
    assert head_of(checkpoint).label_names(MULTI_LABEL) == ("good",)


def test_the_first_two_equal_labels():
    assert find_twin(("a", "b", "c", "b", "a")) == (1, 3)
    assert find_twin(("a", "b")) is None


def test_one_function_decides_label_names():
    """Copies and a new head take the stored names as they are; all others ask HeadFiles.label_names."""
    modules = {module for module in HOUSE.modules if "head.labels" in HOUSE.read(module)}
    assert modules == {
        f"bert_cli.{name}" for name in ("exports.converted", "exports.converted_files", "opening.head_labels")
    }
