"""Folds: each row in one, labels spread evenly, by the seed alone."""

import numpy as np
import pytest
from bert_cli.examples.folds import stratified_folds
from hypothesis import given
from hypothesis import strategies as st

from bert_cli.base.errors import InputError


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=5, max_size=40), st.integers(2, 5))
def test_sizes_differ_by_one_row_at_most(labels, count):
    folds = stratified_folds(labels, count, seed=3)
    sizes = np.bincount(folds, minlength=count)
    assert len(folds) == len(labels)
    assert sizes.max() - sizes.min() <= 1
    for label in set(labels):
        of_label = np.bincount(folds[[each == label for each in labels]], minlength=count)
        assert of_label.max() - of_label.min() <= 1
    np.testing.assert_array_equal(folds, stratified_folds(labels, count, seed=3))


def test_numbers_are_spread_by_value():
    folds = stratified_folds([2.0, 10.0, 1.0, 9.0], 2, seed=1)
    assert folds[0] != folds[2]
    assert folds[1] != folds[3]


def test_fewer_rows_than_folds():
    with pytest.raises(InputError, match="--cross_validation=3: there are 2 rows"):
        stratified_folds(["a", "b"], 3, seed=1)
