"""Linear models on sparse text features, as baselines. scikit-learn is imported where it is used."""

import warnings
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def logistic_probabilities(
    features: "csr_matrix", label_ids: np.ndarray, count: int, others: "csr_matrix"
) -> np.ndarray:
    """Logistic regression: float64 [m, count], the probability of each of `count` labels in m rows
    `others`.

    features: [n, f] with int label_ids [n]; others: [m, f]. A label without a row has 0.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    present = np.unique(label_ids)
    probabilities = np.zeros((others.shape[0], count))
    # The model needs two classes at least.
    if len(present) == 1:
        probabilities[:, present] = 1.0
        return probabilities
    with warnings.catch_warnings():
        # A baseline that has not quite converged is good enough, and nobody can act on the warning.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression().fit(features, label_ids)
    probabilities[:, present] = model.predict_proba(others)
    return probabilities


def ridge_values(features: "csr_matrix", values: np.ndarray, others: "csr_matrix") -> np.ndarray:
    """Ridge regression: float64 [m] for the rows `others` [m, f]; features [n, f] with values float
    [n].
    """
    from sklearn.linear_model import Ridge

    return Ridge().fit(features, values).predict(others)
