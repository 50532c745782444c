"""Pooling by hand."""

import numpy as np

from bert_cli.predicting.pooling import pool, pooled_width
from bert_cli.predicting.vectors import VectorChoice

STATES = [np.array([[[1.0, -2.0], [3.0, -4.0], [9.0, 9.0]]], np.float32)]  # [1, 3, 2]
STATES.append(-STATES[0])
MASK = np.array([[1, 1, 0]], np.float32)
FIRST = np.array([0])


def pooled(pooling, weights=MASK, first=FIRST):
    return pool(STATES, lambda mode: weights, first, pooling)


def test_mean_pooling_returns_sums_of_counted_tokens():
    assert pooled("mean").tolist() == [[[4.0, -6.0], [-4.0, 6.0]]]


def test_max_pooling_skips_other_tokens_and_adds_no_zeros():
    assert pooled("max").tolist() == [[[3.0, -2.0], [-1.0, 4.0]]]
    assert np.isneginf(pooled("max", 0 * MASK)).all()


def test_cls_and_tokens():
    assert pooled("cls").tolist() == [[[1.0, -2.0], [-1.0, 2.0]]]
    assert pooled("none").shape == (1, 3, 2, 2)
    assert pooled("none")[0, 1].tolist() == [[3.0, -4.0], [-3.0, 4.0]]


def test_pooler_needs_no_layers():
    assert VectorChoice("pooler", [2], 8, 1).network.indices == ()
    assert VectorChoice("mean", [2, 0], 8, 1).network.indices == (2, 0)


def test_several_poolings_are_concatenated_in_their_order():
    assert pooled("max,cls").tolist() == [[[3.0, -2.0, 1.0, -2.0], [-1.0, 4.0, -1.0, 2.0]]]


def test_cls_takes_the_first_token_after_a_prompt():
    assert pooled("cls", first=np.array([1])).tolist() == [[[3.0, -4.0], [-3.0, 4.0]]]


def test_width_counts_layers_and_poolings():
    assert pooled_width("mean", 1, 8) == 8
    assert pooled_width("cls,mean", 3, 8) == 48
