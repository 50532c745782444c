"""Losses, on numbers small enough to check by hand."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_cli.features.pretraining_batch import loss_shares
from bert_cli.heads.losses import LossRule, cross_entropy, distribution_losses, softmax_losses
from bert_cli.heads.pretraining import tied_cross_entropy
from bert_cli.heads.squad import span_loss

LOGITS = np.log(np.array([[1.0, 2.0, 5.0], [4.0, 2.0, 2.0]], np.float32))  # probabilities in eighths


def test_cross_entropy_is_in_nats_for_each_row():
    np.testing.assert_allclose(cross_entropy(tf.constant([2, 1]), LOGITS), [math.log(8 / 5), math.log(4)], rtol=1e-6)


def masked_lm_loss(ids, weights, logits) -> float:
    """Return the training loss for ids and weights [B, P] and logits [B, P, 3]."""
    rows = logits.reshape(-1, 3)
    losses = tied_cross_entropy(rows, tf.eye(3), tf.zeros(3), tf.reshape(ids, [-1]))
    return float(tf.reduce_sum(losses * loss_shares(np.asarray(weights)).reshape(-1)))


def test_masked_lm_loss_is_a_mean_over_the_batch_not_over_rows():
    logits = np.stack([LOGITS, LOGITS])  # [B=2, P=2, V=3]
    ids, weights = tf.constant([[2, 1], [0, 0]]), tf.constant([[1.0, 1.0], [1.0, 0.0]])
    nll = math.log(8 / 5) + math.log(4) + math.log(8)
    assert masked_lm_loss(ids, weights, logits) == pytest.approx(nll / (3 + 1e-5), rel=1e-6)


def test_masked_lm_loss_without_any_weight_is_zero():
    assert masked_lm_loss(tf.constant([[0, 0]]), tf.zeros([1, 2]), LOGITS[None]) == 0.0


def test_epsilon_in_the_masked_lm_loss():
    weights = tf.constant([[1e-5, 0.0]])
    assert masked_lm_loss(tf.constant([[1, 0]]), weights, LOGITS[None]) == pytest.approx(math.log(4) / 2, rel=1e-5)


def test_span_loss_is_the_mean_of_start_and_end():
    actual = span_loss((tf.constant([0, 1]), tf.constant([2, 0])), (LOGITS, LOGITS))
    expected = [(math.log(8) + math.log(8 / 5)) / 2, (math.log(4) + math.log(2)) / 2]
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


def test_distribution_losses_of_numpy_and_keras():
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 20, (40, 5)).astype(np.float32)
    targets = rng.dirichlet(np.ones(5), 40).astype(np.float32)
    exact = logits.astype(np.float64)
    logs = exact - exact.max(axis=1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    losses = distribution_losses(targets, logits, LossRule())
    np.testing.assert_allclose(losses, -(targets * logs).sum(axis=1), rtol=1e-5)
    oracle = keras.losses.CategoricalCrossentropy(from_logits=True, reduction=None)
    np.testing.assert_allclose(losses, oracle(targets, logits), rtol=1e-5)


@pytest.mark.parametrize(
    "rule",
    [
        LossRule(),
        LossRule(smoothing=0.1),
        LossRule(focal_gamma=2.0),
        LossRule(smoothing=0.2, focal_gamma=1.0, class_weights=(1.0, 2.0, 0.5)),
    ],
)
def test_distribution_losses_are_means_over_labels(rule):
    targets = np.array([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]], np.float32)
    by_label = np.stack([softmax_losses(tf.constant([label, label]), LOGITS, rule) for label in range(3)], axis=1)
    expected = (targets * by_label).sum(axis=1)
    np.testing.assert_allclose(distribution_losses(targets, LOGITS, rule), expected, rtol=1e-5)
    # A row without a label.
    assert distribution_losses(tf.zeros([2, 3]), LOGITS, rule).numpy().tolist() == [0.0, 0.0]
