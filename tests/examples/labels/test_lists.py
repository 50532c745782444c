"""Label cells with lists: names, numbers 0 and 1, and texts in brackets that are names."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.labels.lists import read_lists, split_label_names
from bert_cli.problem_types.columns import LabelCells
from bert_cli.problem_types.registry import MULTI_LABEL, REGRESSION, SINGLE_LABEL
from tests.examples.labels.cells import column
from tests.input_errors import error_of
from tests.snapshots import check_message, raises


def read(*labels, problem_type=None, names=None):
    lists = read_lists(column(*labels), problem_type, names)
    return [row[0] for row in lists.cells.rows], lists.flag_count, lists.index_names


def refused(*labels, problem_type=None, names=None):
    return error_of(read, *labels, problem_type=problem_type, names=names)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("[0, 1, 0]", "[1, 0, 0]"),
        ("[0 1 0]", "[1 0 0]"),
        ("[0. 1. 0.]", "[1. 0. 0.]"),
        ("(0, 1, 0)", "(1, 0, 0)"),
        ("[False, True, False]", "[True, False, False]"),
        (("0", "1", "0"), ("1", "0", "0")),
    ],
)
def test_numbers_0_and_1_are_labels_by_position(first, second):
    assert read(first, second, first) == ([("1",), ("0",), ("1",)], 3, ("0", "1", "2"))
    assert read(first, second, names=("x", "y", "z")) == ([("y",), ("x",)], 3, None)


def test_numbers_0_and_1_for_two_labels():
    assert read("[0, 1]", "[1, 0]", "[1, 1]", "[0, 0]") == ([("1",), ("0",), ("0", "1"), ()], 2, ("0", "1"))
    assert read("[0, 1]", "[0, 1]", problem_type=MULTI_LABEL, names=("0", "1"))[0] == [("1",), ("1",)]


def test_names_0_and_1():
    assert read("[0]", "[1]", "[0, 1]") == ([("0",), ("1",), ("0", "1")], 0, None)
    assert read("[0, 1]", "[1, 0]", problem_type=MULTI_LABEL, names=("0", "1", "2"))[1] == 0


def test_numbers_0_and_1_with_different_lengths():
    check_message(refused("[0, 1, 0]", "[1, 0, 0]", "[0, 1]"), "t.csv:4: ")
    check_message(refused("[0, 1, 0]", "[1, 1, 1]", names=("a", "b")), "t.csv:2: ")
    assert refused(("0", "1", "0"), "a").startswith("t.csv:3: a list of 3 numbers")


def test_missing_labels_between_lists():
    assert read("[0, 1, 0]", "", "[1, 0, 0]", "nan")[0] == [("1",), "", ("0",), "nan"]
    assert read("['a']", "-", "['b', 'a']")[0] == [("a",), "-", ("b", "a")]


@pytest.mark.parametrize(
    "texts",
    [
        ("['a', 'b']", "['b']", "[]"),
        ('["a","b"]', '["b"]', "[]"),
        ("('a', 'b')", "('b',)", "()"),
        ("{'a', 'b'}", "{'b'}", "{}"),
        ("['a' 'b']", "['b']", "[]"),
    ],
)
def test_lists_of_names(texts):
    assert read(*texts)[0] == [("a", "b"), ("b",), ()]


def test_lists_of_class_numbers():
    assert read("[27]", "[3, 10]", "[ 3 10 12]")[0] == [("27",), ("3", "10"), ("3", "10", "12")]


def test_label_studio_writes_lists_only_for_several_labels():
    assert read("news", '{"choices": ["art", "news"]}', "art")[0] == ["news", ("art", "news"), "art"]


@pytest.mark.parametrize(
    "labels",
    [
        ("[Other]", "(none)", "good"),
        ("[Other]", "[Art]"),
        ("(0, 10]", "(10, 20]"),
        ("[0, 10)", "[10, 20)", "[20, 30]"),
        ("(1)", "(2)"),
        ("good", "bad"),
    ],
)
def test_names_in_brackets_stay_names(labels):
    assert read(*labels) == (list(labels), 0, None)


def test_pairs_of_numbers_are_ambiguous():
    check_message(refused("[0, 10]", "[10, 20]"), "t.csv:2: ")
    assert read("[0, 10]", "[10, 20]", problem_type=SINGLE_LABEL)[0] == ["[0, 10]", "[10, 20]"]
    assert read("[0, 10]", "[10, 20]", problem_type=MULTI_LABEL)[0] == [("0", "10"), ("10", "20")]


def test_lists_between_names_are_ambiguous():
    check_message(refused("[0, 1, 0]", "good"), "t.csv:3: ")
    check_message(refused("['a', 'b']", "['a'"), "t.csv:3: ")
    check_message(refused("['a', 'b']", '["a", null]'), "t.csv:3: ")


def test_lists_without_quotes_are_ambiguous():
    check_message(refused("[sport]", "[sport, news]"), "t.csv:3: ")
    assert read("[sport]", "[sport, news]", problem_type=SINGLE_LABEL)[0] == ["[sport]", "[sport, news]"]


@pytest.mark.parametrize("problem_type", [None, SINGLE_LABEL, MULTI_LABEL])
def test_annotated_spans_are_no_labels(problem_type):
    """Label Studio's CSV of spans belongs to bert-tag; an empty list is a text without entities."""
    spans = '[{"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}]'
    message = refused("[]", spans, problem_type=problem_type)
    assert message.startswith("t.csv:3: the label is '[{")
    check_message(message)


def test_model_labels_are_never_lists():
    assert read("[0, 10]", "[1]", problem_type=SINGLE_LABEL, names=("[0, 10]", "[1]"))[0] == ["[0, 10]", "[1]"]


def test_single_label_model_reads_lists_of_one():
    assert read("['a']", "['b']", problem_type=SINGLE_LABEL, names=("a", "b"))[0] == [("a",), ("b",)]
    assert read("[0, 1, 0]", "[1, 0, 0]", problem_type=SINGLE_LABEL)[0] == [("1",), ("0",)]
    assert read("[3.5]", "[2]", problem_type=REGRESSION)[0] == [("3.5",), ("2",)]


def test_numbers_are_logged_if_the_problem_type_is_set(caplog):
    caplog.set_level("INFO")
    read("[0, 1, 0]", "[1, 0, 0]", problem_type=MULTI_LABEL)
    check_message(caplog)


def test_columns_of_0_and_1_are_unchanged():
    cells = LabelCells("t.csv", (2,), [("1", "0")], ("rude", "loud"), True)
    assert read_lists(cells, None, None).cells is cells


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("good", ("good",)),
        ("[Other]", ("[Other]",)),
        ("['a']", ("a",)),
        ("['a', 'b']", ("a", "b")),
        ("[0, 1]", ("0", "1")),
        ("[0, 10]", ("[0, 10]",)),
        ("[]", ()),
    ],
)
def test_names_in_a_single_cell(text, names):
    assert split_label_names(text, "t.csv:2") == names


@pytest.mark.parametrize("problem_type", [None, SINGLE_LABEL, MULTI_LABEL])
@pytest.mark.parametrize("text", ["[0.2, 0.8]", "(0.6, 0.3, 0.1)", "[0.2 0.8]", "{'neg': 0.2, 'pos': 0.8}"])
def test_probabilities_are_refused(text, problem_type):
    with raises(InputError, "t.csv:2: "):
        read_lists(column(text, text), problem_type, None)


def test_probabilities_in_one_cell_are_refused():
    with raises(InputError, "t.csv:2: "):
        split_label_names("[0.2, 0.8]", "t.csv:2")


def test_closed_intervals_may_be_names():
    cells = column("[0.1, 0.5]", "[0.5, 1.0]")
    with raises(InputError, "--problem_type=single_label"):
        read_lists(cells, None, None)
    assert read_lists(cells, SINGLE_LABEL, None).cells == cells
    bins = column("[0.0, 0.5)", "[0.5, 1.0]")
    assert read_lists(bins, None, None).cells == bins
