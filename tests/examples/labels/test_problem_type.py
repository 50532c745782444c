"""Problem types inferred from label cells, and the reasons."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.labels.lists import ListCells, read_lists
from bert_cli.examples.labels.problem_type import infer_problem_type
from bert_cli.problem_types.columns import LabelCells
from tests.examples.labels.cells import column
from tests.snapshots import raises


def infer(*labels, separator=None):
    made = infer_problem_type(read_lists(column(*labels, separator=separator), None, None))
    return made.problem_type.name, made.reason


def test_one_label_per_row():
    assert infer("good", "bad") == ("single_label", "one label per row")
    assert infer("5 stars", "4 stars", "90%") == ("single_label", "one label per row")


@pytest.mark.parametrize("labels", [(("pos",), ("neg",)), ("['pos']", "['neg']"), ("[1]", "[27]"), ("{'a'}", "{'b'}")])
def test_lists_of_one_label_are_single_label(labels):
    assert infer(*labels) == (
        "single_label",
        "lists of one label each; --problem_type=multi_label if a text may have none or several",
    )


def test_empty_list_means_multi_label():
    reason = (
        "lists of at most one label; 2 are empty, the first in line 3; --skip_unlabeled leaves such rows out, and it is "
        "single-label"
    )
    assert infer(("pos",), (), ("neg",), ()) == ("multi_label", reason)
    assert infer("['pos']", "[]", "['neg']", "[]") == ("multi_label", reason)


def test_several_labels():
    assert infer("['a', 'b']", "['b']") == ("multi_label", "lists of labels")
    assert infer("a,b", "b", separator=",") == ("multi_label", "cells divided at ','")
    cells = LabelCells("t.csv", (2, 3), [("1", "0"), ("1", "1")], ("rude", "loud"), True)
    assert infer_problem_type(ListCells(cells)).reason == "a column per label"
    one_hot = LabelCells("t.csv", (2, 3), [("1", "0"), ("False", "True")], ("x", "y"), True)
    assert infer_problem_type(ListCells(one_hot)).reason.startswith("a column per label; --problem_type=single_label")


def test_numbers_0_and_1():
    assert infer("[0, 1, 1]", "[1, 0, 0]") == (
        "multi_label",
        "lists of 3 numbers 0 and 1, named by their positions unless --labels names them",
    )
    assert infer("[0, 1, 0]", "[1, 0, 0]")[1].endswith("; --problem_type=single_label if a text has exactly one")


@pytest.mark.parametrize("labels", [("1", "nan", "3.5", ""), (("1",), ("2",), ("3.5",)), ("2", "1", "3.5")])
def test_decimals_are_ambiguous(labels):
    with raises(InputError, "t.csv:4: "):
        infer(*labels)


def test_log_line():
    made = infer_problem_type(ListCells(column("a", "b")))
    assert made.describe(3) == "3 labels, single-label classification (one label per row)"


@pytest.mark.parametrize("labels", [("1,0", "4,5", "2"), ("0,125", "nan", ""), ("1.234,5", "3"), (("3,5",), ("4",))])
def test_decimal_commas_are_ambiguous(labels):
    with raises(InputError, "t.csv:2: "):
        infer(*labels)


def test_class_indices_with_commas_are_ambiguous():
    with raises(InputError, "t.csv:3: "):
        infer("27", "2,15", "1,2,3")


@pytest.mark.parametrize("labels", [("3,5", "good"), ("a,b", "c"), ("Smith, J.", "b"), ("1.2.2020", "2.2.2020")])
def test_other_texts_with_commas_and_points_are_names(labels):
    assert infer(*labels)[0] == "single_label"
