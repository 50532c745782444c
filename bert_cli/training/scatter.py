"""Collection of results from groups of rows. Imports no TensorFlow."""

from collections.abc import Callable, Iterable

import numpy as np


def infer(
    run: Callable,
    groups: Iterable[np.ndarray],
    make_batch: Callable[[np.ndarray], dict[str, np.ndarray]],
    advance: Callable[[int], None],
) -> dict[str, np.ndarray]:
    """Run a model on all groups of rows, and return arrays in the order of the data set.

    Args:
        run: see batch_distribution.make_runner.
        groups: row indices for each batch, in any order.
        make_batch: make_batch(rows) returns the arrays of a batch.
        advance: advance(n) is called after n more rows.
    """
    groups = list(groups)
    results: dict[str, np.ndarray] = {}
    total = sum(len(rows) for rows in groups)
    for rows in groups:
        put_rows(results, rows, run(rows, make_batch), total)
        advance(len(rows))
    return results


def put_rows(results: dict, rows: np.ndarray, batch_results: dict[str, np.ndarray], total: int) -> None:
    """Write a batch's results into arrays for all rows.

    Args:
        results: name -> array; missing arrays are created.
        rows: row indices of the batch.
        batch_results: name -> values for these rows.
        total: number of rows in the data set.
    """
    for name, values in batch_results.items():
        if name not in results:
            results[name] = np.empty((total, *values.shape[1:]), values.dtype)
        results[name][rows] = values
