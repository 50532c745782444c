"""The BERT encoder, from token ids to vectors."""

from typing import Any

import keras
import tensorflow as tf

from bert_cli.model import ops
from bert_cli.model.config import PROJECTION, BertConfig
from bert_cli.model.frozen_inference import FrozenLayer
from bert_cli.model.layers import Dense, Embeddings, TransformerLayer, named_weights
from bert_cli.model.layout import dense_layout, first_rows, packed_layout, spread
from bert_cli.model.shared_trace import shared_trace
from bert_cli.tf_internals import onednn
from bert_cli.tf_internals.keras_layers import mark_built

WORDS = "bert/embeddings/word_embeddings"  # checkpoint name of the largest variable


class BertEncoder(keras.Model):
    """A BERT encoder with Google's variables, initialization and dropout.

    Call it with a dict of int32 [B, S]: `input_word_ids`, `input_mask` (1 real, 0 padding) and
    `input_type_ids`. It returns a dict of float32 tensors:

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
            may change later; traces made before that do not.
    """

    def __init__(
        self,
        config: BertConfig,
        compute_dtype: str = "float32",
        seed: int = 0,
        recomputes: bool = False,
    ):
        super().__init__(name="bert", autocast=False)
        self.config = config
        self.product_dtype = tf.as_dtype(compute_dtype)
        self.embeddings = Embeddings(config, seed)
        self.projection = None
        if config.embedding_width != config.hidden_size:
            sizes = config.embedding_width, config.hidden_size
            self.projection = Dense(PROJECTION, *sizes, config.initializer_range, seed)
        self.transformer_layers = [TransformerLayer(i, config, seed) for i in range(config.num_hidden_layers)]
        self.recomputes = recomputes
        self._shared_trace = shared_trace(config)
        self._frozen: list[FrozenLayer] = []
        hidden = config.hidden_size
        self.pooler = Dense("bert/pooler/dense", hidden, hidden, config.initializer_range, seed)
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
        x = self.embeddings(  # float32 [T, E]
            inputs["input_word_ids"], inputs["input_type_ids"], layout=layout, seed=seeds[0]
        )
        x = tf.cast(x, self.product_dtype)
        if self.projection is not None:
            x = self.projection(x, training=training)  # [T, H]
        states: list[tf.Tensor] = [x]
        attention: list[tf.Tensor] = []
        last = len(self.transformer_layers) - 1
        # Do not recompute the last layer: its gradient is needed first, so it would save no memory.
        recomputes = self.recomputes and training and not return_attention and tf.inside_function()
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
        states = [tf.cast(spread(state, layout), tf.float32) for state in states]
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
        """Use faster layers with the current weights for predictions, see FrozenLayer.

        Graphs that are traced while the encoder is frozen keep these weights.

        Args:
            is_frozen: False returns to the usual layers.
        """
        usable = is_frozen and onednn.is_available(self.product_dtype)
        self._frozen = [FrozenLayer(layer) for layer in self.transformer_layers] if usable else []

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
