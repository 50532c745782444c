"""ROC-AUC and average precision, compared with scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from bert_cli.metrics.curves import area_under_roc, mean_precision


@pytest.mark.parametrize("digits", [1, 6])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_areas_of_scikit_learn(digits, is_weighted):
    """Few digits give ties."""
    rng = np.random.default_rng(digits)
    probability = rng.random(200).round(digits).astype(np.float32)
    has_label = rng.random(200) < probability
    weights = rng.integers(0, 3, 200).astype(np.float64) if is_weighted else np.ones(200)
    options = {"sample_weight": weights}
    assert area_under_roc(probability, has_label, weights) == pytest.approx(
        roc_auc_score(has_label, probability, **options), rel=1e-12
    )
    assert mean_precision(probability, has_label, weights) == pytest.approx(
        average_precision_score(has_label, probability, **options), rel=1e-12
    )
