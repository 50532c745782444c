"""oneDNN kernels for bfloat16, compared with the same formulas in NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.tf_internals import onednn

needs_bfloat16_units = pytest.mark.skipif(
    not onednn.is_available(tf.bfloat16), reason="this processor has no units for bfloat16"
)


def random_bfloat16(*shape, seed):
    """Return normally distributed numbers in bfloat16."""
    return tf.cast(np.random.default_rng(seed).normal(size=shape), tf.bfloat16)


def to_float32(values):
    return np.asarray(tf.cast(values, tf.float32))


def assert_close(actual, expected):
    assert actual.dtype == tf.bfloat16
    np.testing.assert_allclose(to_float32(actual), expected, rtol=0.02, atol=0.02 * np.abs(expected).max())


def test_not_available_for_float32_or_without_onednn(monkeypatch):
    assert not onednn.is_available(tf.float32)
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")
    assert not onednn.is_available(tf.bfloat16)


@needs_bfloat16_units
@pytest.mark.parametrize("transpose", [False, True])
def test_batch_product(transpose):
    x, y = random_bfloat16(2, 3, 5, 8, seed=0), random_bfloat16(2, 3, *((6, 8) if transpose else (8, 6)), seed=1)
    added, factor = random_bfloat16(2, 1, 1, 6, seed=2), tf.constant(0.5, tf.bfloat16)
    actual = tf.function(lambda: onednn.batch_product(x, y, factor, added, [2, 3, 5, 6], transpose))()
    right = to_float32(y).swapaxes(-1, -2) if transpose else to_float32(y)
    assert_close(actual, to_float32(x) @ right * 0.5 + to_float32(added))


@needs_bfloat16_units
@pytest.mark.parametrize(
    ("activation", "has_residual"),
    [("", False), ("", True), ("Relu", False), ("GeluExact", False), ("GeluApproximate", False)],
)
def test_constant_product(activation, has_residual):
    x, weights, bias = random_bfloat16(5, 16, seed=0), random_bfloat16(16, 8, seed=1), random_bfloat16(8, seed=2)
    residual = random_bfloat16(5, 8, seed=3) if has_residual else None
    actual = tf.function(lambda: onednn.constant_product(x, weights, bias, activation, residual))()
    product = tf.constant(to_float32(x) @ to_float32(weights) + to_float32(bias))
    activated = {
        "": product,
        "Relu": tf.nn.relu(product),
        "GeluExact": tf.nn.gelu(product, approximate=False),
        "GeluApproximate": tf.nn.gelu(product, approximate=True),
    }[activation]
    assert_close(actual, activated.numpy() + (to_float32(residual) if has_residual else 0.0))


@needs_bfloat16_units
def test_layer_norm():
    x, gamma, beta = random_bfloat16(5, 32, seed=0), random_bfloat16(32, seed=1), random_bfloat16(32, seed=2)
    actual = tf.function(lambda: onednn.fused_layer_norm(x, gamma, beta, 1e-12))()
    values = to_float32(x)
    unit = (values - values.mean(axis=1, keepdims=True)) / values.std(axis=1, keepdims=True)
    assert_close(actual, unit * to_float32(gamma) + to_float32(beta))
