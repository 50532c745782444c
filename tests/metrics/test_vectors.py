"""Scores of sentence vectors, checked by hand."""

import numpy as np
import pytest

from bert_cli.metrics.vectors import cosines_of_pairs, search_results, similarity_results


def angles(*degrees: float) -> np.ndarray:
    """Return vectors with these directions in the plane, with different lengths."""
    radians = np.deg2rad(degrees)
    lengths = np.arange(1, len(degrees) + 1)[:, np.newaxis]
    return (np.stack([np.cos(radians), np.sin(radians)], axis=1) * lengths).astype(np.float32)


def test_cosines_of_pairs():
    cosines = cosines_of_pairs(angles(0, 10, 90), np.concatenate([angles(60, 190), np.zeros((1, 2), np.float32)]))
    np.testing.assert_allclose(cosines, [0.5, -1, 0], atol=1e-6)


def test_correlations():
    cosines, scores = np.array([0.1, 0.5, 0.4, 0.9], np.float32), np.array([0, 2, 3, 5], np.float32)
    results = similarity_results(cosines, scores)
    assert results["eval_pairs"] == 4
    assert results["eval_spearman"] == pytest.approx(0.8)
    assert results["eval_pearson"] == pytest.approx(np.corrcoef(cosines, scores)[0, 1], rel=1e-5)


def test_equal_cosines_have_no_correlation():
    assert similarity_results(np.full(4, 0.5, np.float32), np.arange(4)) == {"eval_pairs": 4}


def test_search_among_second_texts():
    # Texts 0, 1 and 2 are queries; 3, 4 and 5 are their targets. Query 2 finds text 4 before text 5.
    vectors = angles(0, 20, 40, 1, 35, 90)
    results = search_results(vectors, np.array([[0, 3], [1, 4], [2, 5]]))
    assert results["eval_mrr"] == pytest.approx((1 + 1 + 1 / 3) / 3)
    assert (results["eval_queries"], results["eval_texts"]) == (3, 3)
    assert results["eval_recall_at_1"] == pytest.approx(2 / 3)
    assert results["eval_recall_at_5"] == 1


def test_a_query_with_several_targets():
    vectors = angles(0, 80, 5, 10, 20)
    results = search_results(vectors, np.array([[0, 2], [0, 4], [1, 3], [0, 2]]))
    assert (results["eval_queries"], results["eval_texts"]) == (2, 3)
    # Query 0 has ranks 1 and 3. Query 1 finds text 4 (60 degrees away) before its target, text 3.
    assert results["eval_mrr"] == pytest.approx((1 + 1 / 2) / 2)
    assert results["eval_recall_at_1"] == pytest.approx((0.5 + 0) / 2)
    assert results["eval_recall_at_5"] == 1


def test_a_query_does_not_find_itself():
    # Text 0 is a query, and also a target.
    results = search_results(angles(0, 30, 60), np.array([[0, 1], [2, 0]]))
    assert results["eval_mrr"] == pytest.approx((1 + 1 / 2) / 2)


def test_equal_vectors_find_nothing():
    """A collapsed model must not have a perfect recall."""
    pairs = np.arange(40).reshape(20, 2)
    results = search_results(np.ones((40, 3), np.float32), pairs)
    assert results["eval_recall_at_10"] == 0
    assert results["eval_mrr"] == pytest.approx(1 / 20)


def test_many_queries_are_searched_in_parts():
    vectors = np.random.default_rng(3).normal(size=(1200, 8)).astype(np.float32)
    pairs = np.stack([np.arange(600), np.arange(600, 1200)], axis=1)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = units[:600] @ units[600:].T
    ranks = (cosines >= np.diag(cosines)[:, np.newaxis]).sum(axis=1)
    results = search_results(vectors, pairs)
    assert results["eval_mrr"] == pytest.approx(np.mean(1 / ranks), rel=1e-5)
    assert results["eval_recall_at_10"] == pytest.approx(np.mean(ranks <= 10))
