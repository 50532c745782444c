"""Pooling by hand."""

import numpy as np

from bert_cli.predicting.vectors import VectorChoice, pool

STATES = [np.array([[[1.0, -2.0], [3.0, -4.0], [9.0, 9.0]]], np.float32)]  # [1, 3, 2]
STATES.append(-STATES[0])
MASK = np.array([[1, 1, 0]], np.int32)


def test_mean_pooling_returns_sums_of_counted_tokens():
    assert pool(STATES, MASK, "mean").tolist() == [[[4.0, -6.0], [-4.0, 6.0]]]


def test_max_pooling_skips_other_tokens_and_adds_no_zeros():
    assert pool(STATES, MASK, "max").tolist() == [[[3.0, -2.0], [-1.0, 4.0]]]
    assert np.isneginf(pool(STATES, 0 * MASK, "max")).all()


def test_cls_and_tokens():
    assert pool(STATES, MASK, "cls").tolist() == [[[1.0, -2.0], [-1.0, 2.0]]]
    assert pool(STATES, MASK, "none").shape == (1, 3, 2, 2)
    assert pool(STATES, MASK, "none")[0, 1].tolist() == [[3.0, -4.0], [-3.0, 4.0]]


def test_pooler_needs_no_layers():
    assert VectorChoice("pooler", [2], 8, 1).network.indices == ()
    assert VectorChoice("mean", [2, 0], 8, 1).network.indices == (2, 0)
