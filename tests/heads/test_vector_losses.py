"""Losses of sentence vectors against plain NumPy, which loops over rows and candidates."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.heads.vector_losses import VECTOR_LOSSES, VectorLossRule, same_label_losses
from bert_cli.problem_types.pair_losses import COSENT, COSINE, MULTIPLE_NEGATIVES, PAIR_LOSSES, TRIPLET, PairLoss

VECTORS = np.random.default_rng(7).normal(size=(4, 3, 5)).astype(np.float32)
SCORES = np.array([0.9, -0.2, 0.9, 0.1], np.float32)


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


def compute(loss: PairLoss, vectors: np.ndarray, text_ids: np.ndarray | None = None, margin: float = 0.5) -> np.ndarray:
    ids = np.arange(vectors[..., 0].size).reshape(vectors.shape[:2]) if text_ids is None else text_ids
    batch = {"scores": tf.constant(SCORES[: len(vectors)]), "text_ids": tf.constant(ids, tf.int32)}
    return VECTOR_LOSSES[loss](tf.constant(vectors), batch, VectorLossRule(loss, 20.0, margin)).numpy()


def negatives_loss(vectors: np.ndarray, text_ids: np.ndarray, row: int) -> float:
    """Return -log of the positive's share of exp(20 · cos) among the candidates that count."""
    texts_of_anchor = {text_ids[row, 0], *text_ids[text_ids[:, 0] == text_ids[row, 0], 1]}
    total = target = np.exp(20 * cosine(vectors[row, 0], vectors[row, 1]))
    for other, ids in enumerate(text_ids):
        for index in range(1, len(ids)):
            if (other, index) != (row, 1) and ids[index] not in texts_of_anchor:
                total += np.exp(20 * cosine(vectors[row, 0], vectors[other, index]))
    return -np.log(target / total)


@pytest.mark.parametrize(
    "text_ids",
    [
        np.arange(12).reshape(4, 3),
        # Row 1 has the positive of row 0, row 2 its anchor, and row 3 its anchor as a positive.
        np.array([[0, 1, 2], [3, 1, 4], [0, 5, 6], [7, 0, 1]]),
        # A missing negative repeats the positive.
        np.array([[0, 1, 1], [3, 4, 5], [6, 7, 7], [8, 9, 9]]),
    ],
)
def test_multiple_negatives_leave_out_equal_texts(text_ids):
    expected = [negatives_loss(VECTORS, text_ids, row) for row in range(4)]
    np.testing.assert_allclose(compute(MULTIPLE_NEGATIVES, VECTORS, text_ids), expected, rtol=1e-5)


def test_multiple_negatives_of_pairs_use_other_rows():
    pairs = VECTORS[:, :2]
    ids = np.arange(8).reshape(4, 2)
    expected = [negatives_loss(pairs, ids, row) for row in range(4)]
    np.testing.assert_allclose(compute(MULTIPLE_NEGATIVES, pairs), expected, rtol=1e-5)
    assert compute(MULTIPLE_NEGATIVES, pairs[:1])[0] == 0, "a single row has no negative"


def test_cosent_compares_rows_with_different_scores():
    cosines = [cosine(row[0], row[1]) for row in VECTORS]
    pairs = [(low, high) for low in range(4) for high in range(4) if SCORES[low] < SCORES[high]]
    assert len(pairs) == 5
    expected = np.log1p(sum(np.exp(20 * (cosines[low] - cosines[high])) for low, high in pairs))
    np.testing.assert_allclose(compute(COSENT, VECTORS[:, :2]), [expected] * 4, rtol=1e-5)


def test_cosine_is_a_squared_error():
    expected = [(cosine(row[0], row[1]) - score) ** 2 for row, score in zip(VECTORS, SCORES, strict=True)]
    np.testing.assert_allclose(compute(COSINE, VECTORS[:, :2]), expected, rtol=1e-5)


def test_triplet_has_a_margin_and_skips_missing_negatives():
    vectors = np.concatenate([VECTORS, VECTORS[:, 1:2]], axis=1)
    ids = np.array([[0, 1, 2, 1], [3, 4, 5, 4], [6, 7, 7, 7], [8, 9, 10, 9]])
    expected = [max(0.0, cosine(row[0], row[2]) - cosine(row[0], row[1]) + 0.3) for row in VECTORS]
    expected[2] = 0.0
    np.testing.assert_allclose(compute(TRIPLET, vectors, ids, 0.3), expected, rtol=1e-5)


def test_triplet_is_a_mean_over_negatives():
    two = np.concatenate([VECTORS, VECTORS[:, ::-1][:, :1]], axis=1)
    losses = [max(0.0, cosine(row[0], row[2]) - cosine(row[0], row[1]) + 2.0) for row in VECTORS]
    np.testing.assert_allclose(compute(TRIPLET, two, margin=2.0), losses, rtol=1e-5)


@pytest.mark.parametrize("loss", VECTOR_LOSSES)
def test_gradients_are_finite_for_equal_vectors(loss):
    vectors = tf.Variable(np.ones((4, 3, 5), np.float32))
    batch = {"scores": tf.constant(SCORES), "text_ids": tf.reshape(tf.range(12), [4, 3])}
    with tf.GradientTape() as tape:
        losses = VECTOR_LOSSES[loss](vectors, batch, VectorLossRule(loss, 20.0, 0.5))
    assert losses.shape == (4,)
    assert np.isfinite(tape.gradient(losses, vectors)).all()


def test_each_loss_of_the_flag_is_computed():
    assert list(VECTOR_LOSSES) == list(PAIR_LOSSES.values())


def test_same_label_losses_are_means_over_other_rows():
    labels = np.array([0, 1, 0, 1])
    rows = VECTORS[:, 0]
    expected = [
        np.mean([(cosine(rows[i], rows[j]) - (labels[i] == labels[j])) ** 2 for j in range(4) if j != i])
        for i in range(4)
    ]
    np.testing.assert_allclose(same_label_losses(tf.constant(rows), tf.constant(labels)), expected, rtol=1e-5)
