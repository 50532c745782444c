"""Columns with their roles, and the account of a file with these columns."""

import pytest

from bert_cli.reading.columns.roles import TableColumns, find_column
from bert_cli.reading.rows import Row


def test_every_column_is_used_or_named():
    columns = TableColumns(5, ("id", "text", "stars", "user", ""), 1, None, (2,), 0)
    facts = columns.facts("a.csv", 7)
    assert facts.columns == {"text": ("text",), "label": ("stars",), "id": ("id",)}
    assert list(facts.not_used) == ["user", "4"]
    assert facts.num_rows == 7


def test_columns_without_names_are_numbers():
    facts = TableColumns(3, None, 2, None, (0,), None).facts("a.csv", 1)
    assert (facts.columns, list(facts.not_used), facts.has_names) == ({"text": ("2",), "label": ("0",)}, ["1"], False)


def test_a_list_of_texts_has_no_columns():
    assert TableColumns(1, None, 0, None, (), None).facts("a.txt", 3).form == "a list of texts"


@pytest.mark.parametrize(("name", "expected"), [("b", 1), ("0", 2), ("1", 1), ("3", None), ("x", None)])
def test_columns_by_name_or_number(name, expected):
    assert find_column(name, ["a", "b", "0"], 3) == expected


def test_repeated_headers():
    columns = TableColumns(2, ("text", "label"), 0, None, (1,), None)
    assert columns.is_repeated_header(Row(9, ["\ufefftext", "label"]))
    assert not columns.is_repeated_header(Row(9, ["text", "labels"]))
