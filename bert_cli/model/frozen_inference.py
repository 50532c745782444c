"""Layers whose weights stay as they are, for predictions in bfloat16 on a CPU: in half the time of
the layers in model.layers.

TensorFlow has kernels of oneDNN that multiply, add the bias and a residual, and apply GELU in one
pass. Where it knows that a factor never changes, they keep it in the order that the processor's
units for matrices read; it knows this only of a constant within the graph, which is copied by each
pass that optimizes the graph. Here the kernels are put into the graph themselves, with an attribute
that says so of weights outside of it.
"""

import math

import tensorflow as tf

from bert_cli.model import ops
from bert_cli.model.attention_heads import join_heads, split_heads
from bert_cli.model.layers import Dense, LayerNorm, TransformerLayer
from bert_cli.model.layout import Layout, first_rows
from bert_cli.tf_internals import onednn

# The activations that a product can end with.
_ENDS = {"gelu_erf": "GeluExact", "gelu_tanh": "GeluApproximate", "relu": "Relu"}


class _Product:
    """x W + b of a Dense layer, times `factor`: [R, inputs] -> [R, units]."""

    def __init__(self, dense: Dense, factor: float = 1.0):
        self._kernel, self._bias = (tf.cast(part.value * factor, onednn.DTYPE) for part in (dense.kernel, dense.bias))

    def __call__(self, x: tf.Tensor, end: str = "", residual: tf.Tensor | None = None) -> tf.Tensor:
        """end: one of _ENDS' values, applied to the product; residual: [R, units] that is added to
        it.
        """
        return onednn.constant_product(x, self._kernel, self._bias, end, residual)


class _Norm:
    """A LayerNorm; its statistics are float32."""

    def __init__(self, norm: LayerNorm):
        self._gamma, self._beta = (tf.cast(part.value, onednn.DTYPE) for part in (norm.gamma, norm.beta))
        self._epsilon = float(norm.epsilon)

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        return onednn.layer_norm(x, self._gamma, self._beta, self._epsilon)


class FrozenLayer:
    """A TransformerLayer with the weights that it has now."""

    def __init__(self, layer: TransformerLayer):
        attention = layer.attention
        self._heads = attention.heads
        # A power of two is exact in bfloat16; the rest of the scale goes into the query's weights
        # before they are rounded.
        self._scale = 2.0 ** round(math.log2(attention.scale))
        self._query = _Product(attention.query, attention.scale / self._scale)
        self._key, self._value = _Product(attention.key), _Product(attention.value)
        self._attention_output = _Product(layer.attention_output)
        self._attention_norm = _Norm(layer.attention_norm)
        self._widen, self._narrow = _Product(layer.widen), _Product(layer.narrow)
        self._activation = layer.activation
        self._output_norm = _Norm(layer.output_norm)

    def __call__(self, x: tf.Tensor, layout: Layout, first_only: bool) -> tuple[tf.Tensor, tf.Tensor | None]:
        """As TransformerLayer.call without dropout; the probabilities are bfloat16."""
        context, probabilities = self._attention(x, layout, first_only)
        residual = tf.gather(x, first_rows(layout)) if first_only else x
        x = self._attention_norm(self._attention_output(context, residual=residual))
        wide = self._widen(x, _ENDS.get(self._activation, ""))
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
