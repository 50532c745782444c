"""Regression metrics, computed by hand and with scikit-learn and SciPy."""

import math
import warnings

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics

from bert_cli.base.errors import InputError
from bert_cli.metrics.classification import main_metrics, regression_metrics


def test_regression_by_hand():
    values, predicted = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 6.0], np.float32)
    metrics = regression_metrics(values, (values - predicted) ** 2, predicted, batch_size=3)
    assert metrics["eval_rmse"] == np.float32(math.sqrt((0 + 1 + 1 + 4) / 4))
    assert metrics["eval_mae"] == np.float32(1.0)
    # Pearson: covariance 7, sums of squares 5 and 14. Spearman: ranks 1 3 2 4, 1 - 6 · (1 + 1) / (4 · 15).
    assert metrics["eval_pearson"] == pytest.approx(7 / math.sqrt(5 * 14), abs=1e-7)
    assert metrics["eval_spearman"] == pytest.approx(0.8, abs=1e-7)
    assert (metrics["eval_loss"], metrics["loss"], metrics["eval_examples"]) == (1.5, np.float32((2 / 3 + 4) / 2), 4)
    assert main_metrics("pearson_spearman", metrics).keys() == {"eval_pearson", "eval_spearman"}


def test_regression_equals_scipy_and_scikit_learn():
    rng = np.random.default_rng(5)
    values = rng.uniform(0, 5, 60).round(1)  # with ties
    predicted = (values + rng.normal(size=60)).round(1).astype(np.float32)
    metrics = regression_metrics(values, np.ones(60), predicted, 8)
    predicted_float64 = predicted.astype(np.float64)
    assert metrics["eval_pearson"] == np.float32(scipy.stats.pearsonr(values, predicted_float64).statistic)
    assert metrics["eval_spearman"] == np.float32(scipy.stats.spearmanr(values, predicted_float64).statistic)
    assert metrics["eval_rmse"] == np.float32(sklearn.metrics.root_mean_squared_error(values, predicted_float64))
    assert metrics["eval_mae"] == np.float32(sklearn.metrics.mean_absolute_error(values, predicted_float64))


def metrics_without_warnings(values, predicted):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metrics = regression_metrics(np.array(values), np.zeros(len(values)), np.array(predicted, np.float32), 8)
    assert np.isfinite([metrics["eval_rmse"], metrics["eval_mae"]]).all()
    return metrics


@pytest.mark.parametrize(
    ("values", "predicted"),
    [
        ([2.0, 2.0], [1.0, 3.0]),
        ([1.0], [1.0]),
        ([2.5, 2.5], [2.5, 2.5]),
        ([1.0, 2.0], [3.0, 3.0]),
        ([-1.0, 2.0, 5.0], [0.1, 0.1, 0.1]),
    ],
)
def test_correlations_of_constant_values_are_omitted(values, predicted):
    metrics = metrics_without_warnings(values, predicted)
    assert not {"eval_pearson", "eval_spearman"} & metrics.keys()
    assert main_metrics("pearson_spearman", metrics) == {}


def test_nan_is_refused():
    with pytest.raises(InputError, match="the model gives NaN"):
        regression_metrics(np.array([1.0, 2.0]), np.zeros(2), np.array([1.0, np.nan], np.float32), 8)
