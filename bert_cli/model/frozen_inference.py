"""Layers with constant weights, for predictions in bfloat16 on a CPU.

They are twice as fast as the layers in model.layers. TensorFlow's oneDNN kernels multiply, add the
bias and a residual, and apply GELU in one pass. If a factor is constant, they keep a copy in the
order that the processor's matrix units read.

TensorFlow knows that only for constants in the graph, and every optimizer pass copies those. So this
module adds the kernels to the graph itself, with an attribute that marks outside weights as constant.
"""

import functools
import math
from collections.abc import Callable

import tensorflow as tf

from bert_cli.model import ops
from bert_cli.model.attention_heads import join_heads, split_heads
from bert_cli.model.layers import Dense, LayerNorm, TransformerLayer
from bert_cli.model.layout import Layout, first_rows
from bert_cli.tf_internals import onednn

# Activations that a kernel can apply after a product.
_FUSED_ACTIVATIONS = {"gelu_erf": "GeluExact", "gelu_tanh": "GeluApproximate", "relu": "Relu"}


def _product(dense: Dense, factor: float = 1.0) -> Callable[..., tf.Tensor]:
    """Return a Dense layer's function times `factor`, see onednn.constant_product."""
    kernel, bias = (tf.cast(variable.value * factor, onednn.DTYPE) for variable in (dense.kernel, dense.bias))
    return functools.partial(onednn.constant_product, weights=kernel, bias=bias)


def _norm(norm: LayerNorm) -> Callable[..., tf.Tensor]:
    """Return a LayerNorm's function, see onednn.layer_norm."""
    gamma, beta = (tf.cast(variable.value, onednn.DTYPE) for variable in (norm.gamma, norm.beta))
    return functools.partial(onednn.layer_norm, gamma=gamma, beta=beta, epsilon=float(norm.epsilon))


class FrozenLayer:
    """A copy of a TransformerLayer with its current weights as constants."""

    def __init__(self, layer: TransformerLayer):
        attention = layer.attention
        self._heads = attention.heads
        # Multiply the scores by a power of two, which is exact in bfloat16. The remaining factor
        # goes into the query weights before these are rounded.
        self._scale = 2.0 ** round(math.log2(attention.scale))
        self._query = _product(attention.query, attention.scale / self._scale)
        self._key, self._value = _product(attention.key), _product(attention.value)
        self._attention_output = _product(layer.attention_output)
        self._attention_norm = _norm(layer.attention_norm)
        self._widen, self._narrow = _product(layer.widen), _product(layer.narrow)
        self._activation = layer.activation
        self._output_norm = _norm(layer.output_norm)

    def __call__(self, x: tf.Tensor, layout: Layout, first_only: bool) -> tuple[tf.Tensor, tf.Tensor | None]:
        """Return the results of TransformerLayer.call(x, layout, first_only) without dropout.

        The attention probabilities are bfloat16.
        """
        context, probabilities = self._attention(x, layout, first_only)
        residual = tf.gather(x, first_rows(layout)) if first_only else x
        x = self._attention_norm(self._attention_output(context, residual=residual))
        wide = self._widen(x, activation=_FUSED_ACTIVATIONS.get(self._activation, ""))
        # tanh and linear have no fused kernel.
        if self._activation not in _FUSED_ACTIVATIONS:
            wide = ops.activate(wide, self._activation, training=False)
        return self._output_norm(self._narrow(wide, residual=x)), probabilities

    def _attention(self, x: tf.Tensor, layout: Layout, first_only: bool) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the results of SelfAttention.call; predictions use one length bucket."""
        head_rows = layout.whole
        keys, values = (
            split_heads(product(x), self._heads, layout, head_rows, has_gradient=False)[0]
            for product in (self._key, self._value)
        )
        if first_only:
            query = self._query(tf.gather(x, first_rows(layout)))
            queries = tf.reshape(query, [layout.batch, self._heads, 1, keys.shape[-1]])
        else:
            queries = split_heads(self._query(x), self._heads, layout, head_rows, has_gradient=False)[0]
        # The kernel applies the scale and the bias for padded keys, without further passes over the
        # scores.
        scores = onednn.batch_product(
            queries,
            keys,
            tf.constant(self._scale, onednn.DTYPE),
            tf.cast(head_rows.buckets[0].key_bias, onednn.DTYPE),
            [None, self._heads, None, None],
            transpose_y=True,
        )
        probabilities = tf.nn.softmax(scores)  # [B, N, S or 1, S]
        context = tf.matmul(probabilities, values)
        if first_only:
            return tf.reshape(context, [layout.batch, x.shape[-1]]), probabilities
        return join_heads([context], self._heads, layout, head_rows, has_gradient=False), probabilities
