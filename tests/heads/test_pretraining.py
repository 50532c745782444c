"""The masked-LM loss with manual gradient equals the plain computation."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.heads.losses import cross_entropy
from bert_cli.heads.pretraining import tied_cross_entropy


def tied(rows, words, bias, labels, weights):
    return tf.reduce_sum(weights * tied_cross_entropy(rows, words, bias, labels))


def plain(rows, words, bias, labels, weights):
    logits = tf.matmul(rows, tf.cast(words, rows.dtype), transpose_b=True)
    return tf.reduce_sum(weights * cross_entropy(labels, tf.cast(logits, tf.float32) + bias))


def example(scale=1.0):
    rng = np.random.default_rng(3)
    rows = tf.constant(scale * rng.normal(size=(6, 4)), tf.float32)
    words, bias = (
        tf.Variable(rng.normal(size=(9, 4)), dtype=tf.float32),
        tf.Variable(rng.normal(size=9), dtype=tf.float32),
    )
    labels = tf.constant([0, 8, 3, 3, 5, 0])  # some labels are repeated
    weights = tf.constant([0.2, 0.1, 0.3, 0.0, 0.2, 0.2])
    return rows, words, bias, labels, weights


def value_and_gradients(function, rows, words, bias, labels, weights):
    with tf.GradientTape() as tape:
        tape.watch(rows)
        loss = 3.0 * function(rows, words, bias, labels, weights)
    return loss, tape.gradient(loss, [rows, words, bias])


@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_value_and_gradients(scale):
    loss, gradients = value_and_gradients(tied, *example(scale))
    expected_loss, expected_gradients = value_and_gradients(plain, *example(scale))
    assert float(loss) == pytest.approx(float(expected_loss), rel=1e-5, abs=1e-6)
    for actual, value in zip(gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(actual, value, rtol=1e-4, atol=1e-5)


def test_bfloat16_is_close():
    rows, *rest = example()
    loss, gradients = value_and_gradients(tied, tf.cast(rows, tf.bfloat16), *rest)
    expected_loss, expected_gradients = value_and_gradients(plain, rows, *rest)
    assert float(loss) == pytest.approx(float(expected_loss), rel=0.02)
    for actual, value in zip(gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(tf.cast(actual, tf.float32), value, atol=0.05)


def test_predictions_have_separate_losses():
    rows, words, bias, labels, _ = example()
    expected = cross_entropy(labels, tf.matmul(rows, words, transpose_b=True) + bias)
    np.testing.assert_allclose(tied_cross_entropy(rows, words, bias, labels), expected, rtol=1e-5)
