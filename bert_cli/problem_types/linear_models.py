"""Linear models on sparse text features, used as baselines; scikit-learn is imported lazily."""

import warnings
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def logistic_probabilities(
    features: "csr_matrix", label_ids: np.ndarray, num_labels: int, test_features: "csr_matrix"
) -> np.ndarray:
    """Return label probabilities from a logistic regression, float64 [m, num_labels].

    Args:
        features: training features [n, f].
        label_ids: training labels, int [n].
        num_labels: number of labels. A label without training rows has probability 0.
        test_features: features of rows to predict, [m, f].
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


def ridge_values(features: "csr_matrix", values: np.ndarray, test_features: "csr_matrix") -> np.ndarray:
    """Return the values that a ridge regression predicts, float64 [m].

    Args:
        features: training features [n, f].
        values: training targets, float [n].
        test_features: features of rows to predict, [m, f].
    """
    from sklearn.linear_model import Ridge

    return Ridge().fit(features, values).predict(test_features)
