"""Layers whose weights stay as they are, for predictions in bfloat16 on a CPU: in half the time of
the layers in model.layers.

TensorFlow has kernels of oneDNN that multiply, add the bias and a residual, and apply GELU in one
pass. Where it knows that a factor never changes, they keep it in the order that the processor's
units for matrices read; it knows this only of a constant within the graph, which is copied by each
pass that optimizes the graph. Here the kernels are put into the graph themselves, with an attribute
that says so of weights outside of it.
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

# The activations that a product can end with.
_ENDS = {"gelu_erf": "GeluExact", "gelu_tanh": "GeluApproximate", "relu": "Relu"}


def _product(dense: Dense, factor: float = 1.0) -> Callable[..., tf.Tensor]:
    """x W + b of a Dense layer, times `factor`: see onednn.constant_product."""
    kernel, bias = (tf.cast(part.value * factor, onednn.DTYPE) for part in (dense.kernel, dense.bias))
    return functools.partial(onednn.constant_product, weights=kernel, bias=bias)


def _norm(norm: LayerNorm) -> Callable[..., tf.Tensor]:
    """A LayerNorm; its statistics are float32."""
    gamma, beta = (tf.cast(part.value, onednn.DTYPE) for part in (norm.gamma, norm.beta))
    return functools.partial(onednn.layer_norm, gamma=gamma, beta=beta, epsilon=float(norm.epsilon))


class FrozenLayer:
    """A TransformerLayer with the weights that it has now."""

    def __init__(self, layer: TransformerLayer):
        attention = layer.attention
        self._heads = attention.heads
        # A power of two is exact in bfloat16; the rest of the scale goes into the query's weights
        # before they are rounded.
        self._scale = 2.0 ** round(math.log2(attention.scale))
        self._query = _product(attention.query, attention.scale / self._scale)
        self._key, self._value = _product(attention.key), _product(attention.value)
        self._attention_output = _product(layer.attention_output)
        self._attention_norm = _norm(layer.attention_norm)
        self._widen, self._narrow = _product(layer.widen), _product(layer.narrow)
        self._activation = layer.activation
        self._output_norm = _norm(layer.output_norm)

    def __call__(self, x: tf.Tensor, layout: Layout, first_only: bool) -> tuple[tf.Tensor, tf.Tensor | None]:
        """As TransformerLayer.call without dropout; the probabilities are bfloat16."""
        context, probabilities = self._attention(x, layout, first_only)
        residual = tf.gather(x, first_rows(layout)) if first_only else x
        x = self._attention_norm(self._attention_output(context, residual=residual))
        wide = self._widen(x, activation=_ENDS.get(self._activation, ""))
        # tanh and linear have no fused kernel.
        if self._activation not in _ENDS:
            wide = ops.activate(wide, self._activation, training=False)
        return self._output_norm(self._narrow(wide, residual=x)), probabilities

    def _attention(self, x: tf.Tensor, layout: Layout, first_only: bool) -> tuple[tf.Tensor, tf.Tensor]:
        """As SelfAttention.call; predictions have one bucket of sequences."""
        head_rows = layout.whole
        keys, values = (
            split_heads(part(x), self._heads, layout, head_rows, has_gradient=False)[0]
            for part in (self._key, self._value)
        )
        if first_only:
            query = self._query(tf.gather(x, first_rows(layout)))
            queries = tf.reshape(query, [layout.batch, self._heads, 1, keys.shape[-1]])
        else:
            queries = split_heads(self._query(x), self._heads, layout, head_rows, has_gradient=False)[0]
        # The scale and the bias of padded keys are part of the product: neither takes a pass over
        # the scores.
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
