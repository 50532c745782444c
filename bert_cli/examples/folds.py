"""Dividing rows into folds, each with its share of every label."""

from collections.abc import Sequence

import numpy as np

from bert_cli.base.errors import InputError


def stratified_folds(labels: Sequence[object], count: int, seed: int) -> np.ndarray:
    """The fold of each row, 0 to count - 1, int64 [n].

    The rows are shuffled, sorted by label (numbers by value, all else as text) and dealt out in turn; so the folds differ by at
    most one row, and so do the rows of any label in them. Which rows, depends on the seed alone. InputError for fewer rows than
    folds.
    """
    if len(labels) < count:
        raise InputError(
            f"--cross_validation={count}: there are {len(labels)} rows to train on; give at most as many parts"
        )
    order = np.random.default_rng(seed).permutation(len(labels)).tolist()
    is_number = all(isinstance(label, float) for label in labels)
    order.sort(key=lambda row: labels[row] if is_number else str(labels[row]))
    folds = np.empty(len(labels), np.int64)
    folds[order] = np.arange(len(labels)) % count
    return folds
