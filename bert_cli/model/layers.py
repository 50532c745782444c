"""The layers of BERT (Devlin et al., 2018), with the weight names of Google's checkpoints.

Layers work on token rows. Weights are float32; products use the encoder's compute dtype. Shapes:

- B batch, S sequence, T computed tokens (see layout.py).
- R rows that a layer returns: T, or B if only the first tokens are needed.
- H hidden, E embedding width (H, except in an ELECTRA), I intermediate.
- N heads, D head width.
- V vocabulary, P positions, K token types.
"""

import functools
from collections.abc import Callable, Sequence

import keras
import tensorflow as tf

from bert_cli.model import ops
from bert_cli.model.attention_heads import join_heads, split_heads
from bert_cli.model.config import BertConfig
from bert_cli.model.deferred_initialization import DeferredInitialization, normal_initializer
from bert_cli.model.layout import Layout, first_rows, first_token, gather_computed_slots
from bert_cli.model.lora import Lora
from bert_cli.tf_internals import onednn
from bert_cli.tf_internals.keras_layers import layers_inside, mark_built, own_variables


class Scoped(keras.layers.Layer):
    """A layer with weights called `scope/name` in Google's checkpoints."""

    def __init__(self, scope: str):
        super().__init__(name=scope.replace("/", "_"), autocast=False)
        mark_built(self)
        self.scope = scope
        self.checkpoint_names: list[str] = []
        # Seed -> initializer, in the order of the weights.
        self._initializers: list[Callable[[int], keras.Initializer]] = []

    def add_scoped(self, name: str, shape: tuple[int, ...], initializer: str | keras.Initializer) -> keras.Variable:
        """Add a float32 weight.

        Args:
            name: weight name, which follows the scope in checkpoints.
        """
        self.checkpoint_names.append(f"{self.scope}/{name}")
        self._initializers.append(lambda _: keras.initializers.get(initializer))
        return self.add_weight(name=name.replace("/", "_"), shape=shape, initializer=initializer, dtype="float32")

    def add_normal(self, name: str, shape: tuple[int, ...], stddev: float, seed: int) -> keras.Variable:
        """Add a weight with a truncated normal distribution, as in the original.

        The values depend on `seed` and the weight's full name, not on layers created earlier.

        Args:
            name: weight name, which follows the scope in checkpoints.
            stddev: standard deviation; values beyond two of them are drawn again.
        """
        make_initializer = functools.partial(normal_initializer, f"{self.scope}/{name}", stddev)
        is_deferred = DeferredInitialization.current.get() is not None
        variable = self.add_scoped(name, shape, "zeros" if is_deferred else make_initializer(seed))
        self._initializers[-1] = make_initializer
        if is_deferred:
            DeferredInitialization.initialize(variable, make_initializer(seed))
        return variable

    def restart(self, seed: int) -> None:
        """Set all weights as in a new layer with this seed."""
        for variable, make_initializer in zip(own_variables(self), self._initializers, strict=True):
            DeferredInitialization.initialize(variable, make_initializer(seed))

    def named_variables(self) -> dict[str, keras.Variable]:
        """Return the layer's variables by checkpoint name."""
        return dict(zip(self.checkpoint_names, own_variables(self), strict=True))


def named_weights(layer: keras.layers.Layer) -> dict[str, keras.Variable]:
    """Return variables by checkpoint name, from all Scoped layers inside `layer`."""
    variables = {}
    for inner_layer in layers_inside(layer):
        if isinstance(inner_layer, Scoped):
            variables.update(inner_layer.named_variables())
    return variables


class DenseLayer(Scoped):
    """A dense layer, x W + b, from [R, inputs] to [R, units].

    Its variables are kernel [inputs, units] and bias [units]. With an adapter, W is the sum of the
    kernel and the adapter's product.
    """

    def __init__(self, scope: str, inputs: int, units: int, stddev: float, seed: int, lora: Lora | None = None):
        super().__init__(scope)
        self.kernel = self.add_normal("kernel", (inputs, units), stddev, seed)
        self.bias = self.add_scoped("bias", (units,), "zeros")
        self.adapter = (
            LowRank(f"{scope}/kernel", inputs, units, lora, seed) if lora and lora.applies_to(scope) else None
        )

    @property
    def sum(self) -> tf.Tensor:
        """Return W, float32."""
        kernel = tf.convert_to_tensor(self.kernel.value)
        return kernel + self.adapter.product() if self.adapter else kernel

    def call(self, x: tf.Tensor, training: bool = False, product: tf.Tensor | None = None) -> tf.Tensor:
        """Return x W + b.

        Args:
            x: [R, inputs].
            training: use kernels for weights that change.
            product: the result, if it is computed already.
        """
        # Weights stay float32, because bfloat16 would
        # lose small updates. Each step casts them once.
        kernel, bias = tf.cast(self.kernel.value, x.dtype), tf.cast(self.bias.value, x.dtype)
        if product is not None:
            assert self.adapter is None, "BertEncoder does not recompute layers with adapters"
            return ops.precomputed_product(x, kernel, bias, product)
        if training and tf.inside_function() and onednn.is_available(x.dtype):
            y = ops.biased_product(x, kernel, bias)
        else:
            # TensorFlow fuses a two-dimensional product with a bias that
            # follows directly, and outside training also with GELU.
            y = ops.add_bias(tf.matmul(x, kernel), bias)
        return y + self.adapter(x) if self.adapter else y


class LowRank(Scoped):
    """The product scale · A B that an adapter adds to a kernel, see model.lora.

    B is 0 at the start. A has the variance of peft's initial values, 1 / (3 inputs).
    """

    def __init__(self, scope: str, inputs: int, units: int, lora: Lora, seed: int):
        super().__init__(scope)
        self.scale = lora.scale
        self.a = self.add_normal("lora_a", (inputs, lora.rank), (3 * inputs) ** -0.5, seed)
        self.b = self.add_scoped("lora_b", (lora.rank, units), "zeros")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """Return scale · x A B, in the dtype of x."""
        return self.scale * tf.matmul(tf.matmul(x, tf.cast(self.a.value, x.dtype)), tf.cast(self.b.value, x.dtype))

    def product(self) -> tf.Tensor:
        """Return scale · A B, float32 [inputs, units]."""
        return self.scale * tf.matmul(self.a.value, self.b.value)


class LayerNormalization(Scoped):
    """Layer normalization over H, with the variables gamma [H] and beta [H].

    The original uses an epsilon of 1e-12.
    """

    def __init__(self, scope: str, width: int, epsilon: float):
        super().__init__(scope)
        self.epsilon = epsilon
        # Create beta before gamma: Keras weight files are ordered by creation.
        self.beta = self.add_scoped("beta", (width,), "zeros")
        self.gamma = self.add_scoped("gamma", (width,), "ones")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return ops.layer_norm(x, self.gamma.value, self.beta.value, self.epsilon)


class Embeddings(Scoped):
    """The normalized sum of word, token type and position embeddings, float32 [T, E].

    Some networks have no token types.
    """

    def __init__(self, config: BertConfig, seed: int):
        super().__init__("bert/embeddings")
        width, stddev = config.embedding_width, config.initializer_range
        self.type_count = config.type_vocab_size
        self.rate = config.hidden_dropout_prob
        self.words = self.add_normal("word_embeddings", (config.vocab_size, width), stddev, seed)
        if self.type_count:
            self.types = self.add_normal("token_type_embeddings", (self.type_count, width), stddev, seed)
        self.positions = self.add_normal("position_embeddings", (config.max_position_embeddings, width), stddev, seed)
        self.norm = LayerNormalization("bert/embeddings/LayerNorm", width, config.layer_norm_eps)
        self._used_table: tf.Variable | None = None

    def restart(self, seed: int) -> None:
        super().restart(seed)
        self.use_table(None)

    def use_table(self, table: tf.Variable | None) -> None:
        """Look up words in another table, [U, E], from now on; None returns to `words`.

        Graphs that are already traced keep their table.
        """
        self._used_table = table

    def look_up(self, word_ids: tf.Tensor) -> tf.Tensor:
        """Return the rows of the word table, float32 [..., E]."""
        table = self.words.value if self._used_table is None else self._used_table
        # Not from a variable: after that, TensorFlow copies the table on every read and assignment.
        return tf.gather(tf.convert_to_tensor(table), word_ids)

    def call(self, x: tf.Tensor, type_ids: tf.Tensor, layout: Layout, seed: tf.Tensor | None = None) -> tf.Tensor:
        if self.type_count:
            # Multiply by one-hot rows, as the original does: a type out of range adds nothing.
            x += tf.matmul(tf.one_hot(gather_computed_slots(type_ids, layout), self.type_count), self.types.value)
        positions = tf.convert_to_tensor(self.positions.value)[: layout.length]  # [S, E]
        if layout.slots is None:
            x = tf.reshape(x, [layout.batch, layout.length, x.shape[-1]]) + positions
            x = tf.reshape(x, [layout.batch * layout.length, x.shape[-1]])
        else:
            x += tf.gather(positions, layout.slots % layout.length)
        return ops.dropout(self.norm(x), self.rate, seed, first_token(seed, layout))


class SelfAttention(Scoped):
    """Scaled dot-product attention over all heads, with a softmax in float32."""

    def __init__(self, scope: str, config: BertConfig, seed: int, lora: Lora | None = None):
        super().__init__(scope)
        hidden, stddev = config.hidden_size, config.initializer_range
        self.heads = config.num_attention_heads
        self.rate = config.attention_probs_dropout_prob
        self.scale = (hidden // self.heads) ** -0.5
        self.query, self.key, self.value = (
            DenseLayer(f"{scope}/{name}", hidden, hidden, stddev, seed, lora) for name in ("query", "key", "value")
        )

    def call(
        self, x: tf.Tensor, layout: Layout, first_only: bool, seed: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, tf.Tensor | None]:
        """Return the context and the attention probabilities.

        Args:
            x: [T, H].
            layout: the batch's layout.
            first_only: compute the context only for first tokens.
            seed: seed of dropout; None outside training.

        Returns:
            The context, [R, H], and the probabilities before dropout, [B, N, S or 1, S]. With
            several buckets, None replaces the latter.
        """
        head_rows = layout.whole if first_only else layout.bucketed
        training = seed is not None
        # [B, N, S, D], or one such tensor per bucket.
        keys = split_heads(self.key(x, training=training), self.heads, layout, head_rows)
        values = split_heads(self.value(x, training=training), self.heads, layout, head_rows)
        if first_only:
            query = self.query(tf.gather(x, first_rows(layout)), training=training)  # [B, H]
            queries = [tf.reshape(query, [layout.batch, self.heads, 1, keys[0].shape[-1]])]
        else:
            queries = split_heads(self.query(x, training=training), self.heads, layout, head_rows)
        contexts, probabilities = [], []
        # Compute products in the compute dtype, and the softmax between them in float32.
        for number, bucket in enumerate(head_rows.buckets):
            scores = tf.matmul(queries[number], keys[number], transpose_b=True)  # [B, N, S or 1, S]
            # Apply the scale in float32: unless it is a power of
            # two, bfloat16 would round each score a second time.
            probabilities.append(tf.nn.softmax(tf.cast(scores, tf.float32) * self.scale + bucket.key_bias))
            # Even offsets only: the head's dropout uses 1.
            bucket_seed = None if seed is None else ops.offset_seed(seed, 2 * number, 0)
            weights = ops.dropout(tf.cast(probabilities[-1], x.dtype), self.rate, bucket_seed, bucket.first)
            contexts.append(tf.matmul(weights, values[number]))  # [B, N, S or 1, D]
        if first_only:
            return tf.reshape(contexts[0], [layout.batch, x.shape[-1]]), probabilities[0]
        context = join_heads(contexts, self.heads, layout, head_rows)
        return context, probabilities[0] if len(probabilities) == 1 else None


class TransformerLayer(Scoped):
    """A post-norm layer of attention and feed-forward network.

    Dropout, residual connection and normalization follow both.
    """

    def __init__(self, index: int, config: BertConfig, seed: int, lora: Lora | None = None):
        scope = f"bert/encoder/layer_{index}"
        super().__init__(scope)
        hidden = config.hidden_size
        wide = config.intermediate_size
        stddev = config.initializer_range
        self.activation = config.activation
        self.rate = config.hidden_dropout_prob
        self.attention_rate = config.attention_output_dropout_prob
        self.attention = SelfAttention(f"{scope}/attention/self", config, seed, lora)
        self.attention_output = DenseLayer(f"{scope}/attention/output/dense", hidden, hidden, stddev, seed, lora)
        self.attention_norm = LayerNormalization(f"{scope}/attention/output/LayerNorm", hidden, config.layer_norm_eps)
        self.widen = DenseLayer(f"{scope}/intermediate/dense", hidden, wide, stddev, seed, lora)
        self.narrow = DenseLayer(f"{scope}/output/dense", wide, hidden, stddev, seed, lora)
        self.output_norm = LayerNormalization(f"{scope}/output/LayerNorm", hidden, config.layer_norm_eps)

    def call(
        self, x: tf.Tensor, layout: Layout, first_only: bool, seeds: Sequence[tf.Tensor | None]
    ) -> tuple[tf.Tensor, tf.Tensor | None]:
        """Return the layer's output, [R, H], and the attention probabilities.

        Args:
            x: [T, H].
            layout: the batch's layout.
            first_only: compute only the rows for first tokens.
            seeds: the layer's three dropout seeds; None outside training.
        """
        return self.compute(x, layout, first_only, seeds)[:2]

    def compute(
        self,
        x: tf.Tensor,
        layout: Layout,
        first_only: bool,
        seeds: Sequence[tf.Tensor | None],
        products: Sequence[tf.Tensor | None] = (None, None),
    ) -> tuple[tf.Tensor, tf.Tensor | None, tuple[tf.Tensor, tf.Tensor]]:
        """Return the results of `call`, and the two products that model.shared_trace keeps.

        The products come from attention_output and narrow. They are small but costly: a step
        with recomputation takes 1.3 times as long if they are kept, and 1.4 times otherwise.

        Args:
            x, layout, first_only, seeds: as in `call`.
            products: the two products, if they are computed already.
        """
        context, probabilities = self.attention(x, layout=layout, first_only=first_only, seed=seeds[0])
        residual = tf.gather(x, first_rows(layout)) if first_only else x
        row = None if first_only else first_token(seeds[1], layout)
        training = seeds[1] is not None
        attended = self.attention_output(context, training=training, product=products[0])
        # Normalize the sum, as the original does. Later models normalize the layer's input.
        dropped = ops.dropout(attended, self.attention_rate, seeds[1], row)
        x = self.attention_norm(residual + dropped)  # [R, H]
        wide = ops.activate(self.widen(x, training=training), self.activation, training)  # [R, I]
        narrowed = self.narrow(wide, training=training, product=products[1])
        y = self.output_norm(x + ops.dropout(narrowed, self.rate, seeds[2], row))
        return y, probabilities, (attended, narrowed)
