"""A product with a bias in bfloat16: values and gradients beside those of float32."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.model import onednn

pytestmark = pytest.mark.skipif(not onednn.is_available(tf.bfloat16), reason="this processor has no units for bfloat16")


@pytest.mark.parametrize("sizes", [(7, 12, 20), (64, 32, 96), (1, 8, 8)])
def test_values_and_gradients(sizes):
    rows, inputs, units = sizes
    rng = np.random.default_rng(0)
    shapes = [(rows, inputs), (inputs, units), (units,)]
    given = [tf.cast(rng.normal(size=shape), tf.bfloat16) for shape in shapes]
    weights = tf.cast(rng.normal(size=(rows, units)), tf.bfloat16)

    @tf.function(input_signature=[tf.TensorSpec([None, inputs], tf.bfloat16)], autograph=False)
    def found(x):
        with tf.GradientTape() as tape:
            tape.watch([x, *given[1:]])
            product = onednn.biased_product(x, *given[1:])
        return product, *tape.gradient(product, [x, *given[1:]], output_gradients=weights)

    x, factor, bias, dy = (np.asarray(tf.cast(values, tf.float32)) for values in (*given, weights))
    wanted = [x @ factor + bias, dy @ factor.T, x.T @ dy, dy.sum(axis=0)]
    for own, exact in zip(found(given[0]), wanted, strict=True):
        assert own.dtype == tf.bfloat16
        np.testing.assert_allclose(tf.cast(own, tf.float32), exact, rtol=0.01, atol=0.02 * np.abs(exact).max())


def test_not_for_float32_and_not_where_onednn_is_turned_off(monkeypatch):
    assert not onednn.is_available(tf.float32)
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")
    assert not onednn.is_available(tf.bfloat16)
