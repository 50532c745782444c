"""Advice about numbers that a regression cannot reach."""

import numpy as np
import pytest

from bert_cli.problem_types.regression import REGRESSION


@pytest.mark.parametrize(
    "values", [[0, 5], [1, 10], [-1, 1], [0, 0.5, 1], [-20, 20], [2.5, 2.6], [293, 294, 295, 296], [1985, 2015]]
)
def test_usual_numbers_need_no_advice(values):
    assert REGRESSION.reader.learning_advice(np.array(values)) == ""


def test_numbers_of_a_large_scale():
    values = np.arange(40) * 1_000_000 + 0.5
    assert REGRESSION.reader.learning_advice(values) == (
        "the numbers to learn go from 0.5 to 39000000, and an untrained model predicts about their mean: scale the "
        "targets (divide them by 10000000), and the predictions back"
    )


@pytest.mark.parametrize(
    ("values", "steps"),
    [
        (range(0, 101, 5), "divide them by 10"),  # percentages have a standard deviation of about 30
        (range(1950, 2021), "divide them by 10"),
        (np.linspace(0, 1e-4, 9), "divide them by 0.0001"),
        ([-5000, -1000, 3000], "divide them by 10000"),
        ([1e6 + 1, 1e6 + 2, 1e6 + 3], "subtract 1000002"),
    ],
)
def test_advice_to_subtract_and_divide(values, steps):
    assert f"scale the targets ({steps})" in REGRESSION.reader.learning_advice(np.array(values))


def test_advised_numbers_need_no_more_advice():
    years = np.arange(1950, 2021)
    assert REGRESSION.reader.learning_advice(years / 10) == ""


def test_a_single_number():
    assert (
        REGRESSION.reader.learning_advice(np.array([2.5, 2.5]))
        == "every training row has the number 2.5, so there is nothing to learn"
    )
