"""Metrics of predicted numbers. scikit-learn and SciPy are imported where they are used."""

import numpy as np

from bert_cli.metrics.classification import check_numbers, losses_metrics

CORRELATIONS = ("eval_pearson", "eval_spearman")


def regression_metrics(
    values: np.ndarray, losses: np.ndarray, predicted: np.ndarray, batch_size: int
) -> dict[str, np.float32 | int]:
    """Return the metrics of predicted numbers: float32 scalars, and the number of examples.

    Args: values and predicted float [n] (n > 0), losses float [n] (squared errors), all in file
    order.

    eval_pearson, eval_spearman  correlation of the values and of their ranks, -1…1; equal values share their rank; not
                                 there if all values are equal; 0 if all predictions are
    eval_rmse                    root of the mean squared error, in the unit of the values
    eval_mae                     mean absolute error, in the unit of the values
    eval_loss, loss              the mean squared error, see classification_metrics
    eval_examples                n

    Raises:
        InputError: a prediction is NaN.
    """
    from scipy.stats import pearsonr, spearmanr
    from sklearn.metrics import mean_absolute_error, root_mean_squared_error

    check_numbers(predicted)
    values, predicted = np.asarray(values, np.float64), np.asarray(predicted, np.float64)
    correlations: dict[str, np.float32 | int] = {}
    # A correlation with a constant is undefined. SciPy would warn and give NaN. Constant
    # predictions have learned nothing, which 0 expresses.
    if np.ptp(values) > 0:
        is_flat = np.ptp(predicted) == 0
        statistics = (np.float32(0.0 if is_flat else of(values, predicted).statistic) for of in (pearsonr, spearmanr))
        correlations = dict(zip(CORRELATIONS, statistics, strict=True))
    return {
        **correlations,
        "eval_rmse": np.float32(root_mean_squared_error(values, predicted)),
        "eval_mae": np.float32(mean_absolute_error(values, predicted)),
        **losses_metrics(losses, batch_size),
    }
