"""Table rows, and the errors that all readers share."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.reading.rows import LeftOutRows, Row, refuse_rows, skip_blank_lines
from tests.snapshots import raises


@pytest.mark.parametrize(("column", "expected"), [(0, "a"), (1, "b"), (-1, "b"), (2, ""), (-3, ""), (None, "")])
def test_missing_cells_are_empty(column, expected):
    assert Row(3, ["a", "b"]).cell(column) == expected


def test_the_first_invalid_row_is_named():
    refuse_rows("a.tsv", [], str, "correct it")
    with raises(InputError, "a.tsv:2: "):
        refuse_rows("a.tsv", [(2, "x"), (3, "y"), (9, "z")], lambda cell: f"is {cell}", "correct it")


def test_blank_lines_between_rows_are_counted(caplog):
    rows = [Row(1, ["a"]), Row(4, ["b"])]
    left_out: list[LeftOutRows] = []
    assert list(skip_blank_lines([rows[0], Row(2, ()), Row(3, []), rows[1], Row(5, ())], left_out)) == rows
    assert left_out == [LeftOutRows("blank lines", 2, 2)]


def test_blank_lines_at_the_end_are_normal(caplog):
    left_out: list[LeftOutRows] = []
    assert list(skip_blank_lines([Row(1, ["a"]), Row(2, ())], left_out)) == [Row(1, ["a"])]
    assert not left_out
