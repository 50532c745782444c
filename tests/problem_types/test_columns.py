"""Decimals in tables and records."""

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.problem_types.columns import (
    FlagColumn,
    NameListColumn,
    NumberColumn,
    Probabilities,
    TextColumn,
    number_cells,
    round_to_six_digits,
)


def test_number_cells_are_the_shortest_decimals_of_float32():
    assert number_cells(np.array([[0.9987654, 1.234e-05]])) == [["0.9987654", "1.234e-05"]]


def test_probability_record():
    column = Probabilities(("a", "b"), np.array([[0.1, 0.9]], np.float32))
    assert column.records() == [{"a": 0.1, "b": 0.9}]
    assert column.headers("probabilities") == ["prob_a", "prob_b"]


@pytest.mark.parametrize(
    ("column", "cells", "values"),
    [
        (TextColumn(["a", None, "c"]), ["c", ""], ["c", None]),
        (NameListColumn([("a",), (), ("b", "c")]), ["b,c", ""], [["b", "c"], []]),
        (
            NameListColumn([("a",), (), ("b, or c", "it's")], has_commas=True),
            ["['b, or c', \"it's\"]", "[]"],
            [["b, or c", "it's"], []],
        ),
        (FlagColumn(np.array([True, False, True])), ["yes", "no"], [True, False]),
        (NumberColumn(np.array([1, 0.1, 2.5], np.float32)), ["2.5", "0.1"], [2.5, 0.1]),
    ],
)
def test_columns_in_tables_and_json(column, cells, values):
    rows = column.take(np.array([2, 1]))
    assert rows.headers("name") == ["name"]
    assert rows.cells() == [[cell] for cell in cells]
    assert rows.records() == values


def test_numbers_are_checked():
    TextColumn(["nan"]).check()
    for column in (NumberColumn(np.array([np.nan])), Probabilities(("a",), np.array([[np.nan]]))):
        with pytest.raises(InputError, match="NaN"):
            column.check()


def test_significant_has_six_digits():
    assert round_to_six_digits(0.123456789) == 0.123457
