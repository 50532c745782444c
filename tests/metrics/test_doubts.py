"""Measures of doubt, computed by hand and with SciPy."""

import numpy as np
import pytest
import scipy.stats

from bert_cli.metrics.doubts import DOUBTS
from bert_cli.settings.classification import DOUBT_NAMES

PROBABILITIES = np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.4, 0.2, 0.4]])


def test_the_flag_has_all_measures():
    assert tuple(DOUBTS) == DOUBT_NAMES


@pytest.mark.parametrize(
    ("name", "values", "order"), [("margin", [0.25, 1.0, 0.0], [2, 0, 1]), ("entropy", [0.946, 0.0, 0.960], [2, 0, 1])]
)
def test_one_label(name, values, order):
    doubt = DOUBTS[name]
    measured = doubt.of_label(PROBABILITIES)
    assert measured == pytest.approx(values, abs=1e-3)
    assert doubt.order(measured).tolist() == order


def test_entropy_is_that_of_scipy():
    probabilities = np.random.default_rng(0).dirichlet(np.ones(5), 20)
    assert DOUBTS["entropy"].of_label(probabilities) == pytest.approx(
        scipy.stats.entropy(probabilities, base=5, axis=1)
    )


def test_several_labels():
    probabilities, thresholds = np.array([[0.5, 1.0], [0.9, 0.1]]), np.array([0.4, 0.5])
    assert DOUBTS["margin"].of_labels(probabilities, thresholds) == pytest.approx([0.1, 0.4])
    expected = [0.5, scipy.stats.entropy([0.9, 0.1], base=2)]
    assert DOUBTS["entropy"].of_labels(probabilities, thresholds) == pytest.approx(expected)


def test_ties_keep_the_order_of_the_file():
    assert DOUBTS["margin"].order(np.array([0.5, 0.1, 0.5, 0.1])).tolist() == [1, 3, 0, 2]
