"""BERT's encoder as nodes of an ONNX graph, built from its tensors."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bert_cli.base.spec import INPUTS
from bert_cli.model.config import MASKED_SCORE, PROJECTION, BertConfig
from bert_cli.onnx.graph import FLOAT, INT32, TEXTS, Graph, activation_nodes

TOKEN_TYPES = "bert/embeddings/token_type_embeddings"
WORDS = "bert/embeddings/word_embeddings"
EMBEDDINGS_NORM = "bert/embeddings/LayerNorm"
ONNXRUNTIME_DOMAIN = "com.microsoft"  # domain of onnxruntime's custom operators
EMBEDDED = "embedded"  # the input of a graph without embedding tables
ROWS = "rows"  # an additional input of a flat graph: the state row of each position, [B, S]
# More of them, for attention, in which a row has the D values of a token's head. HEAD_ROWS find queries, keys and
# values in the products' result, [3 T N, D], and have the shape [B, N, S]. CONTEXT_ROWS, [T, N], find the tokens' heads
# in the context, [B N S, D].
HEAD_ROWS = ("query_rows", "key_rows", "value_rows")
CONTEXT_ROWS = "context_rows"


def type_table(table: np.ndarray) -> np.ndarray:
    """Return token type embeddings [types, E] with at least the rows 0 and 1.

    A type without a row adds nothing, because the original multiplies one-hot rows.
    """
    missing = max(0, 2 - len(table))
    return np.pad(table, [(0, missing), (0, 0)])


def float32_words(bert: "Bert") -> str:
    """Return the word embeddings, [B, S, E]."""
    return bert.graph.add("Gather", bert.weight(WORDS), INPUTS[0])


def float32_states(bert: "Bert") -> list[str]:
    """Return the outputs of embedding and layers, [B, S, H] each."""
    x = bert.norm(bert.embed(), EMBEDDINGS_NORM)
    if bert.projects:
        x = bert.dense(x, PROJECTION)
    key_bias = bert.key_bias()
    states = [x]
    for number in range(bert.config.num_hidden_layers):
        x = _layer(bert, x, number, key_bias)
        states.append(x)
    return states


@dataclasses.dataclass(frozen=True)
class GraphForm:
    """Inputs, attention and precision of a graph.

    Attributes:
        is_embedded: whether the input is `embedded`, float32 [B, S, E], for texts of one length. If
            not, the graph has embedding tables, and its inputs are spec.INPUTS [B, S].
        is_flat: whether texts have different lengths and products skip padding. States are then the
            real tokens from all texts one after the other, [T, H], and so is `embedded`, [T, E].
            Only attention uses padded texts.
        returns_attention: whether each layer's attention is an output, `attention_0`, …
            [B, N, S, S].
        look_up_words: function that adds the word embeddings, [B, S, E].
        add_layers: function that adds embeddings and layers, and returns their outputs.
    """

    is_embedded: bool = False
    is_flat: bool = False
    returns_attention: bool = False
    look_up_words: Callable[["Bert"], str] = float32_words
    add_layers: Callable[["Bert"], list[str]] = float32_states


PADDED = GraphForm()
ONE_LENGTH = GraphForm(is_embedded=True)
FLAT = GraphForm(is_embedded=True, is_flat=True)
WITH_ATTENTION = GraphForm(is_embedded=True, returns_attention=True)


@dataclasses.dataclass(frozen=True)
class Bert:
    """Network as graph nodes: weights, and the parts that all forms share.

    Attributes:
        graph: graph that gets the nodes.
        tensors: Google's name -> float32.
        config: the model's configuration.
        form: inputs, attention and precision.
    """

    graph: Graph
    tensors: Mapping[str, np.ndarray]
    config: BertConfig
    form: GraphForm = PADDED

    def weight(self, name: str) -> str:
        return self.graph.constant(name, self.tensors[name])

    def dense(self, x: str, scope: str) -> str:
        """Return x W + b over the last axis."""
        product = self.graph.add("MatMul", x, self.weight(f"{scope}/kernel"))
        return self.graph.add("Add", product, self.weight(f"{scope}/bias"))

    def norm(self, x: str, scope: str) -> str:
        return self.layer_norm(x, self.weight(f"{scope}/gamma"), self.weight(f"{scope}/beta"))

    def layer_norm(self, x: str, gamma: str, beta: str) -> str:
        return self.graph.add("LayerNormalization", x, gamma, beta, axis=-1, epsilon=self.config.layer_norm_eps)

    def projection(self, number: int, variable: str) -> np.ndarray:
        """Return a layer's kernels or biases for query, key and value side by side.

        They are [H, 3 H] or [3 H], so that one product can use them.
        """
        scope = f"bert/encoder/layer_{number}/attention/self"
        arrays = [self.tensors[f"{scope}/{name}/{variable}"] for name in ("query", "key", "value")]
        return np.concatenate(arrays, axis=-1)

    @property
    def projects(self) -> bool:
        """Return whether embeddings and layers have different widths."""
        return self.config.embedding_width != self.config.hidden_size

    def embed(self) -> str:
        """Return summed embeddings in the graph's form; see also models.embed."""
        graph = self.graph
        if self.form.is_flat:
            graph.input(INPUTS[1], TEXTS, INT32)
            graph.input(ROWS, TEXTS)
            for name in HEAD_ROWS:
                graph.input(name, ("batch", "heads", "length"))
            graph.input(CONTEXT_ROWS, ("tokens", "heads"))
        if self.form.is_embedded:
            tokens = ("tokens",) if self.form.is_flat else TEXTS
            return graph.input(EMBEDDED, (*tokens, self.config.embedding_width), FLOAT)
        total = self.form.look_up_words(self)
        if self.config.type_vocab_size:
            table = graph.constant(TOKEN_TYPES, type_table(self.tensors[TOKEN_TYPES]))
            total = graph.add("Add", total, graph.add("Gather", table, INPUTS[2]))
        length = graph.add("Shape", INPUTS[0], start=1, end=2)
        positions = self.weight("bert/embeddings/position_embeddings")
        positions = graph.add("Slice", positions, graph.numbers(0), length, graph.numbers(0))  # [S, E]
        return graph.add("Add", total, positions)

    def key_bias(self) -> str:
        """Return the attention bias [B, 1, 1, S]: 0 for real keys and -10000 for padded ones.

        It is empty if all texts have one length, because none is padded.
        """
        if self.form.is_embedded and not self.form.is_flat:
            return ""
        graph = self.graph
        padded = graph.add("Sub", graph.number(1.0), graph.add("Cast", INPUTS[1], to=FLOAT))
        return graph.add("Unsqueeze", graph.add("Mul", padded, graph.number(MASKED_SCORE)), graph.numbers(1, 2))

    def attend_projected(self, projected: str, key_bias: str) -> str:
        """Return the context in the form of states, for queries, keys and values side by side."""
        if self.form.is_flat:
            return _attend_flat(self, projected, key_bias)
        query, key, value = self.graph.split(projected, [self.config.hidden_size] * 3)
        return self.attend(query, key, value, key_bias)

    def attend(self, query: str, key: str, value: str, key_bias: str) -> str:
        """Return the context [B, S, H], given query, key and value [B, S, H] and the key_bias."""
        # The fused operator does not return its probabilities.
        if not self.form.is_embedded or self.form.returns_attention:
            return _attend_by_single_operators(self, query, key, value, key_bias)
        heads = self.config.num_attention_heads
        return self.graph.add("MultiHeadAttention", query, key, value, num_heads=heads, domain=ONNXRUNTIME_DOMAIN)

    def pad(self, x: str) -> str:
        """Return a state, or values per state row, as [B, S, n]."""
        return self.graph.add("Gather", x, ROWS, axis=0) if self.form.is_flat else x

    def states(self) -> list[str]:
        """Return the outputs of embedding and layers, [B, S, H] each, or [T, H] if they are flat."""
        return self.form.add_layers(self)


def _layer(bert: Bert, x: str, number: int, key_bias: str) -> str:
    graph = bert.graph
    scope = f"bert/encoder/layer_{number}"
    context = _attention(bert, x, number, key_bias)
    attended = bert.dense(context, f"{scope}/attention/output/dense")
    x = bert.norm(graph.add("Add", attended, x), f"{scope}/attention/output/LayerNorm")
    wide = activation_nodes(graph, bert.dense(x, f"{scope}/intermediate/dense"), bert.config.activation)
    narrow = bert.dense(wide, f"{scope}/output/dense")
    return bert.norm(graph.add("Add", narrow, x), f"{scope}/output/LayerNorm")


def _attention(bert: Bert, x: str, number: int, key_bias: str) -> str:
    """Return a layer's attention context.

    Args:
        bert: the network.
        x: the layer's input.
        number: layer number, from 0.
        key_bias: result from Bert.key_bias.
    """
    graph = bert.graph
    scope = f"bert/encoder/layer_{number}/attention/self"
    if not bert.form.is_embedded:
        # Files keep the three products apart, like the checkpoint.
        query, key, value = (bert.dense(x, f"{scope}/{name}") for name in ("query", "key", "value"))
        return bert.attend(query, key, value, key_bias)
    kernel, bias = (
        graph.constant(f"{scope}:{variable}", bert.projection(number, variable)) for variable in ("kernel", "bias")
    )
    return bert.attend_projected(graph.add("Add", graph.add("MatMul", x, kernel), bias), key_bias)


def _attend_flat(bert: Bert, projected: str, key_bias: str) -> str:
    """Return the context [T, H], given queries, keys and values side by side, [T, 3 H].

    Heads are split, padded and put in the order of attention by one copy, and joined by another. onnxruntime's
    MultiHeadAttention needs twice as many copies, and attention takes 1.5 times as long with it.
    """
    graph, config = bert.graph, bert.config
    width = config.hidden_size // config.num_attention_heads
    rows = graph.add("Reshape", projected, graph.numbers(-1, width))
    query, key, value = (graph.add("Gather", rows, name, axis=0) for name in HEAD_ROWS)
    context = _weigh_values(bert, query, graph.add("Transpose", key, perm=[0, 1, 3, 2]), value, key_bias)
    rows = graph.add("Reshape", context, graph.numbers(-1, width))
    return graph.add("Reshape", graph.add("Gather", rows, CONTEXT_ROWS, axis=0), graph.numbers(-1, config.hidden_size))


def _attend_by_single_operators(bert: Bert, query: str, key: str, value: str, key_bias: str) -> str:
    query = _split_heads(bert, query, (0, 2, 1, 3))
    key = _split_heads(bert, key, (0, 2, 3, 1))
    value = _split_heads(bert, value, (0, 2, 1, 3))
    context = bert.graph.add("Transpose", _weigh_values(bert, query, key, value, key_bias), perm=[0, 2, 1, 3])
    return bert.graph.add("Reshape", context, bert.graph.numbers(0, 0, bert.config.hidden_size))


def _weigh_values(bert: Bert, query: str, key: str, value: str, key_bias: str) -> str:
    """Return the context per head, [B, N, S, D].

    Args:
        bert: the network.
        query, value: [B, N, S, D].
        key: [B, N, D, S].
        key_bias: result from Bert.key_bias.
    """
    graph, config = bert.graph, bert.config
    width = math.sqrt(config.hidden_size // config.num_attention_heads)
    scores = graph.add("Div", graph.add("MatMul", query, key), graph.number(width))
    if bert.form.returns_attention:
        number = sum(node.op_type == "Softmax" for node in graph.nodes)
        shape = ("batch", config.num_attention_heads, "length", "length")
        probabilities = graph.output(f"attention_{number}", shape, "Softmax", scores, axis=-1)
    else:
        probabilities = graph.add("Softmax", graph.add("Add", scores, key_bias), axis=-1)
    return graph.add("MatMul", probabilities, value)


def _split_heads(bert: Bert, x: str, permutation: Sequence[int]) -> str:
    """Split [B, S, H] into heads: [B, N, S, D], or [B, N, D, S] with another permutation."""
    heads = bert.config.num_attention_heads
    shape = bert.graph.numbers(0, 0, heads, bert.config.hidden_size // heads)
    return bert.graph.add("Transpose", bert.graph.add("Reshape", x, shape), perm=list(permutation))
