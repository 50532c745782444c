"""Kernels that TensorFlow does not offer: their names, attributes and values."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.tf_internals import onednn

only_with_units = pytest.mark.skipif(
    not onednn.is_available(tf.bfloat16), reason="this processor has no units for bfloat16"
)


def rounded(*shape, seed):
    """Normal numbers that bfloat16 holds exactly."""
    return tf.cast(np.random.default_rng(seed).normal(size=shape), tf.bfloat16)


def exact(values):
    return np.asarray(tf.cast(values, tf.float32))


def close(found, wanted):
    assert found.dtype == tf.bfloat16
    np.testing.assert_allclose(exact(found), wanted, rtol=0.02, atol=0.02 * np.abs(wanted).max())


def test_not_for_float32_and_not_where_onednn_is_turned_off(monkeypatch):
    assert not onednn.is_available(tf.float32)
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")
    assert not onednn.is_available(tf.bfloat16)


@only_with_units
@pytest.mark.parametrize("transpose", [False, True])
def test_batch_product(transpose):
    x, y = rounded(2, 3, 5, 8, seed=0), rounded(2, 3, *((6, 8) if transpose else (8, 6)), seed=1)
    added, factor = rounded(2, 1, 1, 6, seed=2), tf.constant(0.5, tf.bfloat16)
    found = tf.function(lambda: onednn.batch_product(x, y, factor, added, [2, 3, 5, 6], transpose))()
    other = exact(y).swapaxes(-1, -2) if transpose else exact(y)
    close(found, exact(x) @ other * 0.5 + exact(added))


@only_with_units
@pytest.mark.parametrize(
    ("activation", "has_residual"),
    [("", False), ("", True), ("Relu", False), ("GeluExact", False), ("GeluApproximate", False)],
)
def test_constant_product(activation, has_residual):
    x, weights, bias = rounded(5, 16, seed=0), rounded(16, 8, seed=1), rounded(8, seed=2)
    residual = rounded(5, 8, seed=3) if has_residual else None
    found = tf.function(lambda: onednn.constant_product(x, weights, bias, activation, residual))()
    product = tf.constant(exact(x) @ exact(weights) + exact(bias))
    activated = {
        "": product,
        "Relu": tf.nn.relu(product),
        "GeluExact": tf.nn.gelu(product, approximate=False),
        "GeluApproximate": tf.nn.gelu(product, approximate=True),
    }[activation]
    close(found, activated.numpy() + (exact(residual) if has_residual else 0.0))


@only_with_units
def test_layer_norm():
    x, gamma, beta = rounded(5, 32, seed=0), rounded(32, seed=1), rounded(32, seed=2)
    found = tf.function(lambda: onednn.layer_norm(x, gamma, beta, 1e-12))()
    values = exact(x)
    unit = (values - values.mean(axis=1, keepdims=True)) / values.std(axis=1, keepdims=True)
    close(found, unit * exact(gamma) + exact(beta))
