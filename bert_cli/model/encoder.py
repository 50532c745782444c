"""The BERT encoder: token ids in, vectors out."""

import keras
import tensorflow as tf

from bert_cli.model import ops
from bert_cli.model.config import BertConfig
from bert_cli.model.frozen_inference import FrozenLayer
from bert_cli.model.layers import Dense, Embeddings, TransformerLayer, named_weights
from bert_cli.model.layout import dense_layout, first_rows, packed_layout, spread
from bert_cli.model.shapes import PROJECTION
from bert_cli.model.shared_trace import shared_trace
from bert_cli.tf_internals import onednn
from bert_cli.tf_internals.keras_layers import mark_built

WORDS = "bert/embeddings/word_embeddings"  # the name of the largest variable in checkpoints


class BertEncoder(keras.Model):
    """A BERT encoder with Google's variables, initialisation and positions of dropout.

    Call it with a dict of int32 [B, S]: `input_word_ids`, `input_mask` (1 real, 0 padding),
    `input_type_ids`. It returns a dict: `embedding_output` [B, S, H], `encoder_outputs` (a list,
    one [B, S, H] per layer), `sequence_output` (the last of them), `pooled_output` [B, H] (a dense
    layer on the first token, and the network's pooler_activation), and with `return_attention` also `attention_probs` (a list,
    one [B, N, S, S] per layer, probabilities before dropout). Outputs are float32.

    compute_dtype: dtype of the matrix products and of what flows between layers, e.g. "bfloat16";
    weights, embeddings, normalisation statistics and softmax stay float32. recomputes: gradient
    checkpointing in training, see model.recomputation; it may be set later, and counts for what is
    traced from then on.
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

    def call(self, inputs, training=False, seed=None, packed=False, pooled_only=False, return_attention=False):
        """Encode a batch; shapes and outputs as in the class's docstring.

        training: apply dropout, drawn from `seed` (int32 [2]; a fresh one where None is given).
        packed: skip padding. Equal results at real tokens, zeros at padded ones. pooled_only:
        return `pooled_output` and `first_output` [B, H], the last layer's first token, alone, and
        compute in the last layer only what they depend on.
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
        # The gradient of the last layer comes first: to compute it again would save no memory.
        recomputes = self.recomputes and training and not return_attention and tf.inside_function()
        for index, layer in enumerate(self.transformer_layers):
            first_only = pooled_only and index == last
            own_seeds = seeds[1 + 3 * index : 4 + 3 * index]
            # The kernels of frozen layers are imported into the graph that is being traced, so
            # there must be one.
            if self._frozen and not training and tf.inside_function():
                x, probabilities = self._frozen[index](x, layout, first_only)
            elif recomputes and index < last:
                probabilities = None
                x = self._shared_trace.call_recomputed(layer, x, layout, own_seeds)
            else:
                x, probabilities = self._shared_trace.call(layer, x, layout, first_only, own_seeds)
            states.append(x)
            attention.append(probabilities)  # in a packed layout, wider than S
        # Only the last layer can leave rows out: all layers below it are read by the attention of
        # the next one.
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
            outputs["attention_probs"] = [tf.cast(each[:, :, :length, :length], tf.float32) for each in attention]
        return outputs

    def freeze_for_inference(self, is_frozen: bool = True) -> None:
        """Set whether the weights stay as they are now. Predictions are computed faster if they do
        (see FrozenLayer); what is traced meanwhile keeps to these weights.
        """
        usable = is_frozen and onednn.is_available(self.product_dtype)
        self._frozen = [FrozenLayer(layer) for layer in self.transformer_layers] if usable else []

    def without_gradient(self, layer: int | None) -> set[str]:
        """Names of the variables that the output of `layer` (0-based; None: the pooled output) does
        not depend on.
        """
        if layer is None:
            return set()
        above = [f"bert/encoder/layer_{number}/" for number in range(layer + 1, len(self.transformer_layers))]
        return {name for name in named_weights(self) if name.startswith(("bert/pooler/", *above))}

    def _dropout_seeds(self, training: bool, seed: tf.Tensor | None) -> list:
        """A seed for each place of dropout: one after the embeddings, three in each layer; None
        outside training.
        """
        count = 1 + 3 * len(self.transformer_layers)
        if not training:
            return [None] * count
        if seed is None:
            seed = tf.random.uniform([2], maxval=2**31 - 1, dtype=tf.int32)
        return [ops.offset_seed(seed, 0, number) for number in range(count)]
