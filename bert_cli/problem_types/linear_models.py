"""Linear models on sparse text features, used as baselines; scikit-learn is imported lazily."""

import warnings
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from sklearn.preprocessing import StandardScaler

_NEVER = -30.0  # logit of a label without training rows
_MOST_ITERATIONS = 1000


def logistic_probabilities(
    features: "csr_matrix", label_ids: np.ndarray, test_features: "csr_matrix", num_labels: int
) -> np.ndarray:
    """Return label probabilities from a logistic regression, float64 [m, num_labels].

    Args:
        features: training features [n, f].
        label_ids: training labels, int [n].
        test_features: features of rows to predict, [m, f].
        num_labels: number of labels. A label without training rows has probability 0.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    present = np.unique(label_ids)
    probabilities = np.zeros((test_features.shape[0], num_labels))
    # LogisticRegression needs at least two classes.
    if len(present) == 1:
        probabilities[:, present] = 1.0
        return probabilities
    with warnings.catch_warnings():
        # A baseline that has not quite converged is good enough, and nobody can act on the warning.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Many labels on few rows were warned of when the labels were read.
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        model = LogisticRegression().fit(features, label_ids)
    probabilities[:, present] = model.predict_proba(test_features)
    return probabilities


def fit_logistic(
    states: np.ndarray, label_ids: np.ndarray, num_labels: int, row_weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Fit a logistic regression, and return it as a head's output_weights and output_bias.

    The fit uses standardized states, and the result takes states without this step. If there are two
    labels, each gets half of the regression's weights. If a label has no training row, its bias is
    very low.

    Args:
        states: the head's inputs, float [n, W].
        label_ids: int [n].
        num_labels: L.
        row_weights: row weights, [n], or None.

    Returns:
        float32 [L, W] and float32 [L].
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(states)
    weights, bias = np.zeros((num_labels, states.shape[1])), np.full(num_labels, _NEVER)
    present = np.unique(label_ids)
    if len(present) > 1:
        model = LogisticRegression(max_iter=_MOST_ITERATIONS).fit(scaler.transform(states), label_ids, row_weights)
        is_binary = len(present) == 2
        weights[present] = np.stack([-model.coef_[0], model.coef_[0]]) / 2 if is_binary else model.coef_
        intercepts = model.intercept_
        bias[present] = np.array([-intercepts[0], intercepts[0]]) / 2 if is_binary else intercepts
    else:
        bias[present] = 0.0
    return _include_scaler(weights, bias, scaler)


def fit_binary_logistic(
    states: np.ndarray, label_ids: np.ndarray, num_labels: int, row_weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Fit a logistic regression per label, and return the head's weights as `fit_logistic` does.

    Args:
        states, num_labels, row_weights: see `fit_logistic`.
        label_ids: float [n, L] with 0 and 1.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(states)
    scaled = scaler.transform(states)
    weights, bias = np.zeros((num_labels, states.shape[1])), np.full(num_labels, _NEVER)
    for label, column in enumerate(label_ids.T):
        values = np.unique(column)
        if len(values) == 1:
            bias[label] = -_NEVER if values[0] else _NEVER
            continue
        model = LogisticRegression(max_iter=_MOST_ITERATIONS).fit(scaled, column, row_weights)
        weights[label], bias[label] = model.coef_[0], model.intercept_[0]
    return _include_scaler(weights, bias, scaler)


def _include_scaler(weights: np.ndarray, bias: np.ndarray, scaler: "StandardScaler") -> tuple[np.ndarray, np.ndarray]:
    """Return weights and bias for states that are not standardized, float32."""
    weights = weights / scaler.scale_
    return weights.astype(np.float32), (bias - weights @ scaler.mean_).astype(np.float32)


def binary_probabilities(
    features: "csr_matrix", label_ids: np.ndarray, test_features: "csr_matrix", num_labels: int
) -> np.ndarray:
    """Return probabilities from a logistic regression per label, float64 [m, num_labels].

    Args:
        features, test_features, num_labels: see `logistic_probabilities`.
        label_ids: training labels, 0 or 1, [n, num_labels].
    """
    columns = (label_ids > 0).astype(np.int32).T
    return np.stack(
        [logistic_probabilities(features, is_present, test_features, 2)[:, 1] for is_present in columns], axis=1
    )


def ridge_values(
    features: "csr_matrix", values: np.ndarray, test_features: "csr_matrix", num_values: int
) -> np.ndarray:
    """Return the values that a ridge regression predicts, float64 [m].

    Args:
        features: training features [n, f].
        values: training targets, float [n].
        test_features: features of rows to predict, [m, f].
        num_values: number of values per row, which is 1.
    """
    from sklearn.linear_model import Ridge

    return Ridge().fit(features, values).predict(test_features)
