"""A file's labels, read from its cells: problem type, names and a label per row."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.labels.reading import FileRole, read_labels
from bert_cli.problem_types.columns import LabelCells
from bert_cli.problem_types.registry import MULTI_LABEL, REGRESSION, SINGLE_LABEL
from tests.examples.labels.cells import column
from tests.snapshots import check_message, raises

TRAIN, TRAIN_SKIPPING = FileRole(True, False, False), FileRole(True, False, True)
DEV, TEST_SKIPPING = FileRole(False, False, False), FileRole(False, True, True)


def test_training_file_decides_problem_type_and_names():
    assert read_labels(column("b", "a", "b"), None, None, TRAIN)[:3] == (SINGLE_LABEL, ("a", "b"), ["b", "a", "b"])


def test_dev_file_uses_the_models_names():
    assert read_labels(column("b"), SINGLE_LABEL, ("b", "a"), DEV)[:3] == (SINGLE_LABEL, ("b", "a"), ["b"])
    with raises(InputError, "t.csv: "):
        read_labels(column("b"), SINGLE_LABEL, None, DEV)


def test_unlabeled_rows_have_no_label():
    cells = column("b", "", "a")
    assert read_labels(cells, None, None, TRAIN_SKIPPING).rows == ["b", None, "a"]
    assert read_labels(cells, SINGLE_LABEL, ("a", "b"), TEST_SKIPPING).rows == ["b", None, "a"]


def test_empty_multi_label_cells_are_skipped_only_with_the_flag():
    cells = column("a,b", "", "a", separator=",")
    assert read_labels(cells, None, None, TRAIN)[:3] == (MULTI_LABEL, ("a", "b"), [(1, 1), (0, 0), (1, 0)])
    assert read_labels(cells, None, None, TRAIN_SKIPPING).rows == [(1, 1), None, (1, 0)]


@pytest.mark.parametrize(
    "cells",
    [
        column(*(f"intent {number % 200}" for number in range(400))),
        column(*(f"a{number % 150},b{number % 50}" for number in range(400)), separator=","),
        column(*(tuple("1" if place == number % 100 else "0" for place in range(100)) for number in range(400))),
        LabelCells("t.csv", range(90), [("0",) * 30] * 90, tuple(f"label {number}" for number in range(30)), True),
    ],
    ids=["one label", "separated labels", "lists of 0 and 1", "columns of 0 and 1"],
)
def test_many_labels_on_few_rows_have_a_warning(caplog, cells):
    names = read_labels(cells, None, None, TRAIN).names
    warning = f"t.csv: warning: {len(names)} labels in {len(cells.rows)} rows, {len(cells.rows) / len(names):.2g} per"
    assert [message for message in caplog.messages if message.startswith(warning)]


def test_numbers_have_no_names():
    assert read_labels(column("1", "2.5"), REGRESSION, None, TRAIN)[:3] == (REGRESSION, (), ["1", "2.5"])


@pytest.mark.parametrize(
    ("cells", "problem_type", "names", "content"),
    [
        (column("b", "b"), SINGLE_LABEL, ("a", "b"), "the label 'b'"),
        (column(("0", "1", "0"), ("0", "1", "0")), SINGLE_LABEL, None, "the label '1'"),
        (column("a,b", "b,a", separator=","), MULTI_LABEL, ("a", "b", "c"), "the same labels"),
    ],
)
def test_one_label_in_every_row_has_a_warning(caplog, cells, problem_type, names, content):
    """If names are not set, a single label is an error (see find_label_names)."""
    read_labels(cells, problem_type, names, TRAIN)
    warning = f"t.csv: warning: every row has {content}, so there is nothing to learn; check --label_column"
    assert warning in caplog.messages
    caplog.clear()
    read_labels(cells, problem_type, names or ("0", "1", "2"), DEV)
    assert warning not in caplog.messages


def test_one_number_in_every_row_has_a_warning(caplog):
    read_labels(column("2.5", "2.50", "2.5"), REGRESSION, None, TRAIN)
    check_message(caplog)
    caplog.clear()
    read_labels(column("2.5", "2.5"), REGRESSION, (), DEV)
    assert caplog.messages == []


def columns(*rows):
    return LabelCells("t.csv", range(2, 2 + len(rows)), rows, ("b", "a", "c"), True)


def test_one_hot_columns_are_single_labels_if_a_flag_says_so():
    """The columns keep their order, also one without a row."""
    cells = columns(("1", "0", "0"), ("False", "True", "False"), ("0.0", "1.0", "0.0"))
    assert read_labels(cells, SINGLE_LABEL, None, TRAIN)[:3] == (SINGLE_LABEL, ("b", "a", "c"), ["b", "a", "a"])
    assert read_labels(cells, SINGLE_LABEL, ("a", "b", "c"), DEV).rows == ["b", "a", "a"]
    assert read_labels(cells, None, None, TRAIN).problem_type == MULTI_LABEL
    unlabeled = columns(("1", "0", "0"), ("", "", ""), ("0", "0", "1"))
    assert read_labels(unlabeled, SINGLE_LABEL, None, TRAIN_SKIPPING).rows == ["b", None, "c"]


@pytest.mark.parametrize("row", [("1", "1", "0"), ("0", "0", "0"), ("1", "x", "0")])
def test_columns_that_are_not_one_hot_are_refused_as_single_labels(row):
    with raises(InputError, "t.csv:3: "):
        read_labels(columns(("1", "0", "0"), row), SINGLE_LABEL, None, TRAIN)


def test_most_cells_are_empty(caplog):
    read_labels(column("a,b", "", "", "b", "", separator=","), None, None, TRAIN)
    check_message(caplog, "t.csv:3: ")
    caplog.clear()
    read_labels(column(("a", "b"), (), (), ("b",), ()), None, None, TRAIN)
    read_labels(column("a,b", "", "a", "b", separator=","), None, None, TRAIN)
    assert "empty label cell" not in caplog.text
