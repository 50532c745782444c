"""Metrics of predicted numbers. scikit-learn and SciPy are imported where they are used."""

import numpy as np

from bert_cli.metrics.classification import check_numbers, losses_metrics


def regression_metrics(
    values: np.ndarray, losses: np.ndarray, predicted: np.ndarray, batch_size: int
) -> dict[str, np.float32 | int]:
    """Of numbers: float32 scalars, and the number of examples. InputError for NaN.

    Args: values and predicted float [n] (n > 0), losses float [n] (squared errors), all in file
    order.

    eval_pearson, eval_spearman  correlation of the values and of their ranks, -1…1; equal values share their rank
    eval_rmse                    root of the mean squared error, in the unit of the values
    eval_mae                     mean absolute error, in the unit of the values
    eval_loss, loss              the mean squared error, see classification_metrics
    eval_examples                n
    """
    from scipy.stats import pearsonr, spearmanr
    from sklearn.metrics import mean_absolute_error, root_mean_squared_error

    check_numbers(predicted)
    values, predicted = np.asarray(values, np.float64), np.asarray(predicted, np.float64)
    # A correlation with a constant is undefined. SciPy would warn and give NaN.
    is_constant = np.ptp(values) == 0 or np.ptp(predicted) == 0
    return {
        "eval_pearson": np.float32(0.0 if is_constant else pearsonr(values, predicted).statistic),
        "eval_spearman": np.float32(0.0 if is_constant else spearmanr(values, predicted).statistic),
        "eval_rmse": np.float32(root_mean_squared_error(values, predicted)),
        "eval_mae": np.float32(mean_absolute_error(values, predicted)),
        **losses_metrics(losses, batch_size),
    }
