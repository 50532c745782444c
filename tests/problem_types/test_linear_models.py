"""Linear models on sparse features, beside scikit-learn's own."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE, SINGLE_LABEL
from bert_cli.problem_types.linear_models import logistic_probabilities, ridge_values
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.problem_type import LabelSet
from bert_cli.problem_types.regression import REGRESSION

FEATURES = csr_matrix(np.array([[1.0, 0], [1, 0.1], [0, 1], [0.1, 1]]))
OTHERS = csr_matrix(np.array([[1.0, 0.0], [0.0, 1.0]]))


def test_logistic_probabilities_leave_a_label_without_rows_at_0():
    found = logistic_probabilities(FEATURES, np.array([0, 0, 2, 2]), 3, OTHERS)
    assert found.argmax(axis=1).tolist() == [0, 2]
    assert found[:, 1].tolist() == [0, 0]
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_logistic_probabilities_of_many_labels_warn_of_nothing(recwarn):
    features = csr_matrix(np.eye(40))
    probabilities = logistic_probabilities(features, np.arange(40), 40, features)
    assert probabilities.argmax(axis=1).tolist() == list(range(40))
    assert recwarn.list == []


def test_logistic_probabilities_of_one_label_alone():
    assert logistic_probabilities(FEATURES, np.ones(4, int), 2, OTHERS).tolist() == [[0, 1], [0, 1]]


def test_ridge_values_follow_the_features():
    found = ridge_values(FEATURES, np.array([1.0, 1, 3, 3]), OTHERS)
    assert found[0] < 2 < found[1]


def test_constant_and_linear_predictions_of_each_problem_type():
    single = np.array([0, 2, 2], np.int32)
    assert SINGLE_LABEL.constant_prediction(single, 2, 3).tolist() == [[0, 0, 1], [0, 0, 1]]
    assert MULTIPLE_CHOICE.constant_prediction(single, 1, 3).tolist() == [[0, 0, 1]]
    several = np.array([[1, 0], [1, 1], [0, 0], [1, 0]], np.float32)
    assert MULTI_LABEL.constant_prediction(several, 1, 2).tolist() == [[1, 0]]
    assert REGRESSION.constant_prediction(np.array([1, 2, 6], np.float32), 2, 1).tolist() == [3, 3]
    found = MULTI_LABEL.linear_prediction(FEATURES, np.array([[1, 0], [1, 0], [0, 0], [0, 0]]), OTHERS, 2)
    assert found.shape == (2, 2)
    assert found[0, 0] > 0.5 > found[1, 0]
    assert found[:, 1].tolist() == [0, 0]  # a label that no training row has


def test_guess_loss_of_each_problem_type():
    ids = np.array([0, 1], np.int32)
    assert SINGLE_LABEL.guess_loss(ids, 4) == np.log(4)
    assert MULTIPLE_CHOICE.guess_loss(ids, 3) == pytest.approx(np.log(3), rel=1e-15)
    assert MULTI_LABEL.guess_loss(np.zeros((2, 7)), 7) == np.log(2)
    assert REGRESSION.guess_loss(np.array([1.0, 3.0]), 1) == 5


def test_collapse_names_what_all_predictions_have():
    labels = LabelSet(("a", "b"), np.array([0.5, 0.5]))
    same, other = np.array([[0.4, 0.3], [0.4, 0.1]]), np.array([[0.4, 0.3], [0.1, 0.9]])
    assert SINGLE_LABEL.collapse({"probabilities": same}, labels) == "every row gets the label a"
    assert SINGLE_LABEL.collapse({"probabilities": other}, labels) == ""
    assert MULTIPLE_CHOICE.collapse({"probabilities": same}, LabelSet()) == "every row gets the label 0"
    assert MULTI_LABEL.collapse({"probabilities": same}, labels) == "no row gets a label"
    assert MULTI_LABEL.collapse({"probabilities": other}, labels) == ""
    assert regression_collapse(2.5, 2.5) == "every row gets the value 2.5"
    assert regression_collapse(2.5, 2.4) == "every row gets nearly the same value, 2.4 to 2.5"
    assert regression_collapse(2.5, 2) == ""


def regression_collapse(*values):
    """Of two predictions, which are 1.5 from their labels on average."""
    return REGRESSION.collapse({"values": np.array(values, np.float32), "losses": np.array([2.25, 2.25])}, LabelSet())
