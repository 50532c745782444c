"""Linear models on sparse features, compared with scikit-learn's."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE, SINGLE_LABEL
from bert_cli.problem_types.linear_models import fit_binary_logistic, fit_logistic, logistic_probabilities, ridge_values
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.parts import LabelSet
from bert_cli.problem_types.regression import REGRESSION

FEATURES = csr_matrix(np.array([[1.0, 0], [1, 0.1], [0, 1], [0.1, 1]]))
NEW_FEATURES = csr_matrix(np.array([[1.0, 0.0], [0.0, 1.0]]))


def test_logistic_probability_of_an_unseen_label_is_0():
    probabilities = logistic_probabilities(FEATURES, np.array([0, 0, 2, 2]), NEW_FEATURES, 3)
    assert probabilities.argmax(axis=1).tolist() == [0, 2]
    assert probabilities[:, 1].tolist() == [0, 0]
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_logistic_probabilities_of_many_labels_give_no_warnings(recwarn):
    features = csr_matrix(np.eye(40))
    probabilities = logistic_probabilities(features, np.arange(40), features, 40)
    assert probabilities.argmax(axis=1).tolist() == list(range(40))
    assert recwarn.list == []


def test_logistic_probabilities_of_a_single_label():
    assert logistic_probabilities(FEATURES, np.ones(4, int), NEW_FEATURES, 2).tolist() == [[0, 1], [0, 1]]


def test_ridge_values_follow_the_features():
    values = ridge_values(FEATURES, np.array([1.0, 1, 3, 3]), NEW_FEATURES, 1)
    assert values[0] < 2 < values[1]


def test_constant_and_linear_predictions_of_each_problem_type():
    single = np.array([0, 2, 2], np.int32)
    assert SINGLE_LABEL.metrics.constant_prediction(single, 2, 3).tolist() == [[0, 0, 1], [0, 0, 1]]
    assert MULTIPLE_CHOICE.metrics.constant_prediction(single, 1, 3).tolist() == [[0, 0, 1]]
    several = np.array([[1, 0], [1, 1], [0, 0], [1, 0]], np.float32)
    assert MULTI_LABEL.metrics.constant_prediction(several, 1, 2).tolist() == [[1, 0]]
    assert REGRESSION.metrics.constant_prediction(np.array([1, 2, 6], np.float32), 2, 1).tolist() == [3, 3]
    assert MULTIPLE_CHOICE.linear_baseline is None
    probabilities = MULTI_LABEL.linear_baseline(FEATURES, np.array([[1, 0], [1, 0], [0, 0], [0, 0]]), NEW_FEATURES, 2)
    assert probabilities.shape == (2, 2)
    assert probabilities[0, 0] > 0.5 > probabilities[1, 0]
    assert probabilities[:, 1].tolist() == [0, 0]  # no training row has this label


def test_guess_loss_of_each_problem_type():
    ids = np.array([0, 1], np.int32)
    assert SINGLE_LABEL.metrics.guess_loss(ids, 4) == np.log(4)
    assert MULTIPLE_CHOICE.metrics.guess_loss(ids, 3) == pytest.approx(np.log(3), rel=1e-15)
    assert MULTI_LABEL.metrics.guess_loss(np.zeros((2, 7)), 7) == np.log(2)
    assert REGRESSION.metrics.guess_loss(np.array([1.0, 3.0]), 1) == 5


def test_collapse_reports_the_common_prediction():
    exclusive = LabelSet(("a", "b"))
    labels = exclusive._replace(thresholds=np.array([0.5, 0.5]))
    same, different = np.array([[0.4, 0.3], [0.4, 0.1]]), np.array([[0.4, 0.3], [0.1, 0.9]])
    assert SINGLE_LABEL.metrics.collapse({"probabilities": same}, exclusive) == (
        "every row gets the label a, and no row is predicted as b"
    )
    assert SINGLE_LABEL.metrics.collapse({"probabilities": different}, exclusive) == ""
    assert MULTIPLE_CHOICE.metrics.collapse({"probabilities": same}, LabelSet()) == "every row gets the label 0"
    assert MULTI_LABEL.metrics.collapse({"probabilities": same}, labels) == "no row gets a label"
    assert MULTI_LABEL.metrics.collapse({"probabilities": different}, labels) == ""
    assert regression_collapse(2.5, 2.5) == "every row gets the value 2.5"
    assert regression_collapse(2.5, 2.4) == "every row gets nearly the same value, 2.4 to 2.5"
    assert regression_collapse(2.5, 2) == ""


def regression_collapse(*values):
    """Return the collapse of two predictions with a mean error of 1.5."""
    return REGRESSION.metrics.collapse(
        {"values": np.array(values, np.float32), "losses": np.array([2.25, 2.25])}, LabelSet()
    )


@pytest.mark.parametrize("num_labels", [2, 3, 4])
def test_a_fitted_head_is_the_logistic_regression(num_labels):
    # Of four labels, one has no training row.
    random = np.random.default_rng(0)
    label_ids = random.integers(0, min(num_labels, 3), 60)
    states = random.normal(5, 3, (60, 4)).astype(np.float32) + label_ids[:, np.newaxis]
    row_weights = random.uniform(0.5, 2, 60)
    weights, bias = fit_logistic(states, label_ids, num_labels, row_weights)
    logits = states @ weights.T + bias
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    scaler = StandardScaler().fit(states)
    model = LogisticRegression(max_iter=1000).fit(scaler.transform(states), label_ids, row_weights)
    expected = model.predict_proba(scaler.transform(states))
    np.testing.assert_allclose(probabilities[:, : expected.shape[1]], expected, atol=1e-5)
    np.testing.assert_allclose(probabilities[:, expected.shape[1] :], 0.0, atol=1e-6)


def test_a_fitted_head_for_several_labels_per_row():
    random = np.random.default_rng(0)
    states = random.normal(0, 1, (40, 3)).astype(np.float32)
    label_ids = np.stack([states[:, 0] > 0, np.ones(40), np.zeros(40)], axis=1).astype(np.float32)
    weights, bias = fit_binary_logistic(states, label_ids, 3)
    logits = states @ weights.T + bias
    assert ((logits > 0) == (label_ids > 0)).all()
    np.testing.assert_array_equal(bias[1:], [30.0, -30.0])


def test_a_single_label_is_certain():
    weights, bias = fit_logistic(np.ones((3, 2), np.float32), np.array([1, 1, 1]), 2)
    np.testing.assert_array_equal(weights, np.zeros((2, 2)))
    np.testing.assert_array_equal(bias, [-30.0, 0.0])
