"""Metrics for predicted numbers; scikit-learn and SciPy are imported lazily."""

import numpy as np

from bert_cli.metrics.classification import check_numbers, losses_metrics

CORRELATIONS = ("eval_pearson", "eval_spearman")


def regression_metrics(
    values: np.ndarray, losses: np.ndarray, predicted: np.ndarray, batch_size: int
) -> dict[str, np.float32 | int]:
    """Return the metrics of predicted numbers: float32 scalars, and the number of examples.

    eval_pearson, eval_spearman  correlation of values and of ranks, -1…1; equal values share a rank; left out
                                 if all values or all predictions are equal
    eval_rmse                    root of the mean squared error, in the unit of the values
    eval_mae                     mean absolute error, in the unit of the values
    eval_loss, loss              mean squared error, see classification_metrics
    eval_examples                n

    Args:
        values: float [n], n > 0, in file order like the other arrays.
        losses: squared errors, float [n].
        predicted: float [n].
        batch_size: the original's batch size in evaluation.

    Raises:
        InputError: a prediction is NaN.
    """
    from scipy.stats import pearsonr, spearmanr
    from sklearn.metrics import mean_absolute_error, root_mean_squared_error

    check_numbers(predicted)
    values, predicted = np.asarray(values, np.float64), np.asarray(predicted, np.float64)
    correlations: dict[str, np.float32 | int] = {}
    # A correlation with a constant is undefined: SciPy would warn and give NaN. A value such as 0
    # would be better than a negative correlation, and could become the best evaluation.
    if np.ptp(values) > 0 and np.ptp(predicted) > 0:
        statistics = (np.float32(correlation(values, predicted).statistic) for correlation in (pearsonr, spearmanr))
        correlations = dict(zip(CORRELATIONS, statistics, strict=True))
    return {
        **correlations,
        "eval_rmse": np.float32(root_mean_squared_error(values, predicted)),
        "eval_mae": np.float32(mean_absolute_error(values, predicted)),
        **losses_metrics(losses, batch_size),
    }
