"""The labels of one file, from its cells: problem type, names and the label of each row."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.labels.reading import FileRole, read_labels
from bert_cli.problem_types.columns import LabelCells
from bert_cli.problem_types.registry import MULTI_LABEL, REGRESSION, SINGLE_LABEL

TRAIN, TRAIN_SKIPPING = FileRole(True, False, False), FileRole(True, False, True)
DEV, TEST_SKIPPING = FileRole(False, False, False), FileRole(False, True, True)


def column(*labels, separator=None):
    return LabelCells("t.csv", range(2, 2 + len(labels)), [(label,) for label in labels], ("label",), True, separator)


def test_a_training_file_decides_problem_type_and_names():
    assert read_labels(column("b", "a", "b"), None, None, TRAIN) == (SINGLE_LABEL, ("a", "b"), ["b", "a", "b"])


def test_a_dev_file_keeps_the_names_of_the_model():
    assert read_labels(column("b"), SINGLE_LABEL, ("b", "a"), DEV) == (SINGLE_LABEL, ("b", "a"), ["b"])
    with pytest.raises(InputError, match=r"^t.csv: the model has no labels.txt; give --labels"):
        read_labels(column("b"), SINGLE_LABEL, None, DEV)


def test_rows_without_a_label_have_none():
    cells = column("b", "", "a")
    assert read_labels(cells, None, None, TRAIN_SKIPPING).rows == ["b", None, "a"]
    assert read_labels(cells, SINGLE_LABEL, ("a", "b"), TEST_SKIPPING).rows == ["b", None, "a"]


def test_an_empty_cell_of_several_labels_is_left_out_with_the_flag_alone():
    cells = column("a,b", "", "a", separator=",")
    assert read_labels(cells, None, None, TRAIN) == (MULTI_LABEL, ("a", "b"), [(1, 1), (0, 0), (1, 0)])
    assert read_labels(cells, None, None, TRAIN_SKIPPING).rows == [(1, 1), None, (1, 0)]


def test_numbers_have_no_names():
    assert read_labels(column("1", "2.5"), REGRESSION, None, TRAIN) == (REGRESSION, (), ["1", "2.5"])


def test_one_number_in_every_row_is_warned_of(caplog):
    read_labels(column("2.5", "2.50", "2.5"), REGRESSION, None, TRAIN)
    assert caplog.messages == [
        "t.csv: warning: every row has the number 2.5, so there is nothing to learn; check --label_column"
    ]
    caplog.clear()
    read_labels(column("2.5", "2.5"), REGRESSION, (), DEV)
    assert caplog.messages == []
