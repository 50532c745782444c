"""Label cells in a table: names in a cell, and refused cells."""

from bert_cli.base.errors import InputError
from bert_cli.problem_types.columns import LabelCells
from tests.snapshots import raises


def test_names_in_a_cell():
    rows = [("a, b",), ("",), (("x", "y, z"),)]
    cells = LabelCells("f.tsv", (2, 3, 4), rows, ("label",), True, ",")
    assert [cells.names(row) for row in range(3)] == [("a", "b"), (), ("x", "y, z")]


def test_names_without_a_separator():
    assert LabelCells("f.tsv", (2,), [("a, b",)], ("label",), True).names(0) == ("a, b",)


def test_check_known_reports_the_first_row_and_counts_others():
    cells = LabelCells("f.tsv", (2, 5, 6), [("a",), ("q",), ("r",)], ("label",), True)
    with raises(InputError, "f.tsv:5: "):
        cells.check_known([("a",), ("q",), ("r",)], ("a", "b"))


def test_check_one_column():
    with raises(InputError, "--problem_type=regression: "):
        LabelCells("f.tsv", (2,), [("1", "2")], ("x", "y"), True).check_one_column("regression")
