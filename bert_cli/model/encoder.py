"""The BERT encoder, from token ids to vectors, with faster layers for predictions in bfloat16."""

import functools
import math
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from bert_cli.base.spec import WORD_EMBEDDINGS
from bert_cli.model import ops
from bert_cli.model.attention_heads import join_heads, split_heads
from bert_cli.model.config import PROJECTION, BertConfig
from bert_cli.model.layers import DenseLayer, Embeddings, LayerNormalization, TransformerLayer, named_weights
from bert_cli.model.layout import (
    Layout,
    dense_layout,
    first_rows,
    gather_computed_slots,
    packed_layout,
    scatter_computed_slots,
)
from bert_cli.model.lora import Lora
from bert_cli.model.shared_trace import shared_trace
from bert_cli.tf_internals import onednn
from bert_cli.tf_internals.keras_layers import mark_built

WORDS = "bert/embeddings/word_embeddings"  # checkpoint name of the largest variable
# Activations that a oneDNN kernel can apply after a product.
_FUSED_ACTIVATIONS = {"gelu_erf": "GeluExact", "gelu_tanh": "GeluApproximate", "relu": "Relu"}


class BertEncoder(keras.Model):
    """A BERT encoder with Google's variables, initialization and dropout.

    Call it with a dict of int32 [B, S]: `input_word_ids`, `input_mask` (1 real, 0 padding) and
    `input_type_ids`. `input_word_embeddings`, float32 [B, S, E], may replace the ids: rows of the word
    table, or vectors between them. It returns a dict of float32 tensors:

    - `embedding_output`: [B, S, H].
    - `encoder_outputs`: a list with [B, S, H] per layer.
    - `sequence_output`: the last layer's [B, S, H].
    - `pooled_output`: [B, H], a dense layer on the first token with the network's
      pooler_activation.
    - `attention_probs`: only with `return_attention`; a list with [B, N, S, S] per layer, before
      dropout.

    Args:
        config: sizes and rates.
        compute_dtype: dtype of matrix products and of activations between layers, for example
            "bfloat16". Weights, embeddings, normalization statistics and softmax stay float32.
        seed: seed for the initial weights.
        recomputes: use gradient checkpointing in training, see model.shared_trace. The attribute
            may change later; traces made before that do not. Layers with adapters are not
            recomputed.
        lora: adapters for the layers, or None.
    """

    def __init__(
        self,
        config: BertConfig,
        compute_dtype: str = "float32",
        seed: int = 0,
        recomputes: bool = False,
        lora: Lora | None = None,
    ):
        super().__init__(name="bert", autocast=False)
        self.config = config
        self.product_dtype = tf.as_dtype(compute_dtype)
        self.embeddings = Embeddings(config, seed)
        self.projection = None
        if config.embedding_width != config.hidden_size:
            sizes = config.embedding_width, config.hidden_size
            self.projection = DenseLayer(PROJECTION, *sizes, config.initializer_range, seed)
        self.transformer_layers = [TransformerLayer(i, config, seed, lora) for i in range(config.num_hidden_layers)]
        self.recomputes = recomputes
        self.lora = lora
        self._shared_trace = shared_trace(config, lora)
        self._frozen: list[_FrozenLayer] = []
        hidden = config.hidden_size
        self.pooler = DenseLayer("bert/pooler/dense", hidden, hidden, config.initializer_range, seed)
        mark_built(self)

    def call(
        self,
        inputs: dict[str, tf.Tensor],
        training: bool = False,
        seed: tf.Tensor | None = None,
        packed: bool = False,
        pooled_only: bool = False,
        return_attention: bool = False,
    ) -> dict[str, Any]:
        """Encode a batch.

        Args:
            inputs: see the class.
            training: apply dropout.
            seed: seed of dropout, int32 [2] or [6] (see ops.dropout); None for a new random one.
            packed: skip padding. Results at real tokens are equal; padded tokens return zeros.
            pooled_only: return only `pooled_output` and `first_output` [B, H], the last layer's
                first token. The last layer then computes no other tokens.
            return_attention: also return `attention_probs`.
        """
        mask = inputs["input_mask"]
        if packed:
            shard = seed[2:] if training and seed is not None and seed.shape[0] > 2 else None
            bucketed = training and not return_attention
            layout = packed_layout(mask, self.config.num_attention_heads, training, bucketed, shard)
        else:
            layout = dense_layout(mask)
        seeds = self._dropout_seeds(training, seed)
        if WORD_EMBEDDINGS in inputs:
            words = tf.cast(gather_computed_slots(inputs[WORD_EMBEDDINGS], layout), tf.float32)
        else:
            words = self.embeddings.look_up(gather_computed_slots(inputs["input_word_ids"], layout))
        x = self.embeddings(words, inputs["input_type_ids"], layout=layout, seed=seeds[0])  # float32 [T, E]
        x = tf.cast(x, self.product_dtype)
        if self.projection is not None:
            x = self.projection(x, training=training)  # [T, H]
        states: list[tf.Tensor] = [x]
        attention: list[tf.Tensor] = []
        last = len(self.transformer_layers) - 1
        # Do not recompute the last layer: its gradient is needed first, so it would save no memory.
        recomputes = self.recomputes and not self.lora and training and not return_attention and tf.inside_function()
        for index, layer in enumerate(self.transformer_layers):
            first_only = pooled_only and index == last
            layer_seeds = seeds[1 + 3 * index : 4 + 3 * index]
            # Frozen layers import their kernels into the graph that is being traced, so they need
            # a graph.
            if self._frozen and not training and tf.inside_function():
                x, probabilities = self._frozen[index](x, layout, first_only)
            elif recomputes and index < last:
                probabilities = None
                x = self._shared_trace.call_recomputed(layer, x, layout, layer_seeds)
            else:
                x, probabilities = self._shared_trace.call(layer, x, layout, first_only, layer_seeds)
            states.append(x)
            attention.append(probabilities)  # wider than S in a packed layout
        # Only the last layer can skip rows: attention reads all rows of the layer below.
        first = x if pooled_only else tf.gather(x, first_rows(layout))  # [B, H]
        first = tf.cast(first, tf.float32)
        pooled = ops.activate(self.pooler(first), self.config.network.pooler_activation, training)
        if pooled_only:
            return {"pooled_output": pooled, "first_output": first}
        states = [tf.cast(scatter_computed_slots(state, layout), tf.float32) for state in states]
        outputs = {
            "embedding_output": states[0],
            "encoder_outputs": states[1:],
            "sequence_output": states[-1],
            "pooled_output": pooled,
        }
        if return_attention:
            length = layout.length
            outputs["attention_probs"] = [tf.cast(probs[:, :, :length, :length], tf.float32) for probs in attention]
        return outputs

    def freeze_for_inference(self, is_frozen: bool = True) -> None:
        """Use faster layers with the current weights for predictions, see _FrozenLayer.

        Graphs that are traced while the encoder is frozen keep these weights.

        Args:
            is_frozen: False returns to the usual layers.
        """
        usable = is_frozen and onednn.is_available(self.product_dtype)
        self._frozen = [_FrozenLayer(layer) for layer in self.transformer_layers] if usable else []

    def without_gradient(self, layer: int | None) -> set[str]:
        """Return the names of variables without influence on a layer's output.

        Args:
            layer: 0-based index; None for the pooled output.
        """
        if layer is None:
            return set()
        above = [f"bert/encoder/layer_{number}/" for number in range(layer + 1, len(self.transformer_layers))]
        return {name for name in named_weights(self) if name.startswith(("bert/pooler/", *above))}

    def _dropout_seeds(self, training: bool, seed: tf.Tensor | None) -> list:
        """Return the dropout seeds: one after the embeddings and three per layer.

        Outside training, the list contains only None.
        """
        count = 1 + 3 * len(self.transformer_layers)
        if not training:
            return [None] * count
        if seed is None:
            seed = tf.random.uniform([2], maxval=2**31 - 1, dtype=tf.int32)
        return [ops.offset_seed(seed, 0, number) for number in range(count)]


class _FrozenLayer:
    """A copy of a TransformerLayer with its current weights as constants, for bfloat16 on a CPU.

    It is twice as fast. TensorFlow's oneDNN kernels multiply, add the bias and a residual, and
    apply GELU in one pass. If a factor is constant, they keep a copy in the order that the processor's
    matrix units read.

    TensorFlow knows that only for constants in the graph, and every optimizer pass copies those. So
    this class adds the kernels to the graph itself, with an attribute that marks outside weights as
    constant.
    """

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


def _product(dense: DenseLayer, factor: float = 1.0) -> Callable[..., tf.Tensor]:
    """Return a DenseLayer's function times `factor`, see onednn.constant_product."""
    kernel, bias = (tf.cast(value * factor, onednn.DTYPE) for value in (dense.sum, dense.bias.value))
    return functools.partial(onednn.constant_product, weights=kernel, bias=bias)


def _norm(norm: LayerNormalization) -> Callable[..., tf.Tensor]:
    """Return a LayerNormalization's function, see onednn.fused_layer_norm."""
    gamma, beta = (tf.cast(variable.value, onednn.DTYPE) for variable in (norm.gamma, norm.beta))
    return functools.partial(onednn.fused_layer_norm, gamma=gamma, beta=beta, epsilon=float(norm.epsilon))
