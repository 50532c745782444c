"""Label distributions in columns, lists and objects."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.labels.distributions import read_distributions
from bert_cli.examples.labels.reading import FileRole
from bert_cli.problem_types.columns import LabelCells
from tests.snapshots import raises

TRAIN = FileRole(decides_names=True, keeps_rows=False, skips_unlabeled=False)
DEV = FileRole(decides_names=False, keeps_rows=False, skips_unlabeled=False)
SKIPS = FileRole(decides_names=True, keeps_rows=False, skips_unlabeled=True)


def make_cells(rows, columns=("label",)):
    return LabelCells("t.csv", range(2, 2 + len(rows)), rows, columns, True)


def read(rows, columns=("label",), names=None, role=TRAIN, normalizes=False):
    return read_distributions(make_cells(rows, columns), names, role, normalizes)


@pytest.mark.parametrize(
    ("rows", "columns", "names"),
    [
        ([("0.25", "0.75"), ("1", "0")], ("neg", "pos"), ("neg", "pos")),
        ([(("0.25", "0.75"),), (("1", "0"),)], ("label",), ("0", "1")),
        ([("[0.25, 0.75]",), ("[1 0]",)], ("label",), ("0", "1")),
        ([('{"neg": 0.25, "pos": 0.75}',), ('{"pos": 0, "neg": 1}',)], ("cats",), ("neg", "pos")),
    ],
    ids=["columns", "lists", "texts", "objects"],
)
def test_forms(rows, columns, names):
    labels = read(rows, columns)
    assert labels.names == names
    assert labels.distributions == [(0.25, 0.75), (1.0, 0.0)]
    assert labels.rows == [names[1], names[0]]


def test_ties_and_tolerance():
    labels = read([("0.5", "0.5"), ("0.3333", "0.6663")], ("b", "a"))
    assert labels.rows == ["b", "a"]
    assert sum(labels.distributions[1]) == pytest.approx(1, abs=1e-12)


def test_counts_are_normalized_on_request():
    assert read([("3", "1"), ("0", "5")], ("a", "b"), normalizes=True).distributions == [(0.75, 0.25), (0.0, 1.0)]
    with raises(InputError, "t.csv:2: the probabilities 3, 1 sum to 4"):
        read([("3", "1")], ("a", "b"))
    with raises(InputError, "t.csv:2: the probabilities 0, 0 sum to 0"):
        read([("0", "0")], ("a", "b"), normalizes=True)


def test_names_of_the_model():
    rows = [("0.2", "0.8")]
    assert read(rows, ("b", "a"), ("a", "b"), DEV).distributions == [(0.8, 0.2)]
    assert read(rows, ("p0", "p1"), ("a", "b"), DEV).distributions == [(0.2, 0.8)]
    assert read(rows, ("p0", "p1"), ("a", "b"), DEV).rows == ["b"]
    for columns, names in ((("a", "c"), ("a", "b")), (("p0", "p1"), ("a", "b", "c"))):
        with raises(InputError, "t.csv: has probabilities of "):
            read(rows, columns, names, DEV)


def test_rows_without_a_label():
    rows = [("", ""), ("0.5", "0.5")]
    with raises(InputError, "t.csv:2: the probabilities are empty"):
        read(rows, ("a", "b"))
    labels = read(rows, ("a", "b"), role=SKIPS)
    assert labels.rows == [None, "a"]
    assert labels.distributions == [None, (0.5, 0.5)]
    assert [(left_out.num_rows, left_out.line) for left_out in labels.left_out] == [(1, 2)]
    with raises(InputError, "t.csv: has no probabilities"):
        read([("", "")], ("a", "b"), role=SKIPS)


@pytest.mark.parametrize(
    ("row", "columns", "message"),
    [
        (("0.5", ""), ("a", "b"), "t.csv:3: the probability of 'b' is empty"),
        (("0.5", "-0.5"), ("a", "b"), "t.csv:3: the probability of 'b' is '-0.5'"),
        (("nan", "1"), ("a", "b"), "t.csv:3: the probability of 'a' is 'nan'"),
        (("0.5", "0.6"), ("a", "b"), "t.csv:3: the probabilities 0.5, 0.6 sum to 1.1"),
        (("pos",), ("label",), "t.csv:3: the label is 'pos'"),
        (("[0.5, 0.2, 0.3]",), ("label",), "t.csv:3: has 3 probabilities"),
        (('{"a": 1}',), ("label",), "t.csv:3: has 1 probabilities"),
        (("{a}",), ("label",), "t.csv:3: the label is '{a}'"),
    ],
)
def test_refused_rows(row, columns, message):
    first = ("0.5", "0.5") if len(columns) == 2 else ("[0.5, 0.5]",)
    with raises(InputError, message):
        read([first, row], columns)
