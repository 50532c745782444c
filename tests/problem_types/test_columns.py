"""Decimals in tables and records."""

import numpy as np

from bert_cli.problem_types.columns import Probabilities, json_values, number_cells, significant


def test_number_cells_are_the_shortest_decimals_of_float32():
    assert number_cells(np.array([[0.9987654, 1.234e-05]])) == [["0.9987654", "1.234e-05"]]


def test_probability_record():
    assert json_values(Probabilities(("a", "b"), np.array([[0.1, 0.9]], np.float32))) == [{"a": 0.1, "b": 0.9}]


def test_significant_has_six_digits():
    assert significant(0.123456789) == 0.123457
