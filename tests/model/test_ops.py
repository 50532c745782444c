"""Operations with manual gradients, which are more exact than TensorFlow's, and traces shared by graphs."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.model import ops
from bert_cli.tf_internals import onednn


def bias_gradient(dtype, rows):
    upstream = tf.cast(tf.constant(np.random.default_rng(rows).normal(size=(rows, 24)), tf.float32), dtype)
    x, bias = tf.zeros((rows, 24), dtype), tf.constant(np.arange(24), dtype)
    with tf.GradientTape() as tape:
        tape.watch([x, bias])
        result = ops.add_bias(x, bias)
    np.testing.assert_array_equal(tf.cast(result, tf.float32), np.tile(np.arange(24.0), (rows, 1)))
    d_x, d_bias = tape.gradient(result, [x, bias], output_gradients=upstream)
    assert d_x.dtype == d_bias.dtype == dtype
    np.testing.assert_array_equal(tf.cast(d_x, tf.float32), tf.cast(upstream, tf.float32))
    exact = np.asarray(tf.cast(upstream, tf.float32), np.float64).sum(axis=0)
    return np.asarray(tf.cast(d_bias, tf.float32), np.float64), exact


@pytest.mark.parametrize("rows", [1, 370, 2048])
def test_bfloat16_bias_gradient_is_rounded_once(rows):
    actual, exact = bias_gradient(tf.bfloat16, rows)
    np.testing.assert_allclose(actual, exact, rtol=2.0**-8)


def test_float32_bias_gradient_is_exact():
    actual, exact = bias_gradient(tf.float32, 370)
    np.testing.assert_allclose(actual, exact, rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(not onednn.is_available(tf.bfloat16), reason="this processor has no units for bfloat16")
@pytest.mark.parametrize("sizes", [(7, 12, 20), (64, 32, 96), (1, 8, 8)])
def test_biased_product_has_float32_values_and_gradients(sizes):
    rows, inputs, units = sizes
    rng = np.random.default_rng(0)
    shapes = [(rows, inputs), (inputs, units), (units,)]
    operands = [tf.cast(rng.normal(size=shape), tf.bfloat16) for shape in shapes]
    weights = tf.cast(rng.normal(size=(rows, units)), tf.bfloat16)

    @tf.function(input_signature=[tf.TensorSpec([None, inputs], tf.bfloat16)], autograph=False)
    def compute(x):
        with tf.GradientTape() as tape:
            tape.watch([x, *operands[1:]])
            product = ops.biased_product(x, *operands[1:])
        return product, *tape.gradient(product, [x, *operands[1:]], output_gradients=weights)

    x, factor, bias, dy = (np.asarray(tf.cast(values, tf.float32)) for values in (*operands, weights))
    expected = [x @ factor + bias, dy @ factor.T, x.T @ dy, dy.sum(axis=0)]
    for value, exact in zip(compute(operands[0]), expected, strict=True):
        assert value.dtype == tf.bfloat16
        np.testing.assert_allclose(tf.cast(value, tf.float32), exact, rtol=0.01, atol=0.02 * np.abs(exact).max())


def test_one_trace_serves_all_graphs():
    traces = []

    @ops.traced_once
    def double(x, factor=2.0):
        traces.append(tf.inside_function())
        return x * factor

    graphs = [tf.function(lambda x: double(double(x)) + 1.0), tf.function(lambda x: double(x, factor=2.0))]
    assert [float(graph(tf.constant(3.0))) for graph in graphs] == [13.0, 6.0]
    assert traces == [True]
    assert float(double(tf.constant(3.0), factor=5.0)) == 15.0
    assert traces == [True, False]
