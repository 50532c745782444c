"""Joins the results of groups of rows. Imports no TensorFlow."""

from collections.abc import Callable, Iterable

import numpy as np


def infer(
    run: Callable,
    groups: Iterable[np.ndarray],
    make_batch: Callable[[np.ndarray], dict[str, np.ndarray]],
    advance: Callable[[int], None],
) -> dict[str, np.ndarray]:
    """Apply what make_runner made to all groups of rows.

    Returns arrays in which row i belongs to row i of the data set, whatever the groups' order.
    make_batch(rows) gives the arrays of a batch; advance(n) is called after n more rows.
    """
    groups = list(groups)
    results: dict[str, np.ndarray] = {}
    total = sum(len(rows) for rows in groups)
    for rows in groups:
        put_rows(results, rows, run(rows, make_batch), total)
        advance(len(rows))
    return results


def put_rows(results: dict, rows: np.ndarray, found: dict[str, np.ndarray], total: int) -> None:
    """Put what was found of some rows into the arrays of all `total` rows, which are made where
    they are not there.
    """
    for name, values in found.items():
        if name not in results:
            results[name] = np.empty((total, *values.shape[1:]), values.dtype)
        results[name][rows] = values
