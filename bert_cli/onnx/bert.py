"""BERT as nodes of an ONNX graph, built from its tensors."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from onnx import TensorProto

from bert_cli.base.head_types import FIRST, MEAN, POOLED, HeadSpec, TextInput, state_index
from bert_cli.base.spec import INPUTS
from bert_cli.model.config import MASKED_SCORE, BertConfig
from bert_cli.model.shapes import PROJECTION
from bert_cli.onnx.graph import Graph, activate

TOKEN_TYPES = "bert/embeddings/token_type_embeddings"


def type_table(table: np.ndarray) -> np.ndarray:
    """Return token type embeddings [types, E] with at least the rows 0 and 1.

    A type without a row adds nothing, because the original multiplies one-hot rows.
    """
    missing = max(0, 2 - len(table))
    return np.pad(table, [(0, missing), (0, 0)])


class Bert:
    """Encoder and head as graph nodes for padded texts.

    Attributes:
        graph: graph that gets the nodes.
        tensors: Google's name -> float32.
        config: the model's configuration.
    """

    def __init__(self, graph: Graph, tensors: Mapping[str, np.ndarray], config: BertConfig):
        self.graph = graph
        self.tensors = tensors
        self.config = config

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

    def embed(self) -> str:
        """Return summed embeddings, [B, S, E]; see also models.embed."""
        graph = self.graph
        scope = "bert/embeddings"
        total = self.word_embeddings()
        if self.config.type_vocab_size:
            table = graph.constant(TOKEN_TYPES, type_table(self.tensors[TOKEN_TYPES]))
            types = graph.add("Gather", table, INPUTS[2])
            total = graph.add("Add", total, types)
        length = graph.add("Shape", INPUTS[0], start=1, end=2)
        positions = self.weight(f"{scope}/position_embeddings")
        positions = graph.add("Slice", positions, graph.numbers(0), length, graph.numbers(0))  # [S, E]
        return graph.add("Add", total, positions)

    def word_embeddings(self) -> str:
        """Return the word embeddings, [B, S, E]."""
        return self.graph.add("Gather", self.weight("bert/embeddings/word_embeddings"), INPUTS[0])

    def embeddings(self) -> str:
        """Return the normalized and projected embeddings, [B, S, H]."""
        x = self.norm(self.embed(), "bert/embeddings/LayerNorm")
        return self.dense(x, PROJECTION) if self.projects else x

    @property
    def projects(self) -> bool:
        """Return whether embeddings and layers have different widths."""
        return self.config.embedding_width != self.config.hidden_size

    def key_bias(self) -> str:
        """Return the attention bias [B, 1, 1, S]: 0 for real keys and -10000 for padded ones."""
        graph = self.graph
        padded = graph.add("Sub", graph.number(1.0), graph.add("Cast", INPUTS[1], to=TensorProto.FLOAT))
        return graph.add("Unsqueeze", graph.add("Mul", padded, graph.number(MASKED_SCORE)), graph.numbers(1, 2))

    def split_heads(self, x: str, permutation: Sequence[int]) -> str:
        """Split [B, S, H] into heads: [B, N, S, D], or [B, N, D, S] with another permutation."""
        heads = self.config.num_attention_heads
        shape = self.graph.numbers(0, 0, heads, self.config.hidden_size // heads)
        return self.graph.add("Transpose", self.graph.add("Reshape", x, shape), perm=list(permutation))

    def attention(self, x: str, number: int, key_bias: str) -> str:
        """Return a layer's attention context, [B, S, H].

        Args:
            x: the layer's input, [B, S, H].
            number: layer number, from 0.
            key_bias: result from key_bias.
        """
        scope = f"bert/encoder/layer_{number}/attention/self"
        query, key, value = (self.dense(x, f"{scope}/{name}") for name in ("query", "key", "value"))
        return self.attend(query, key, value, key_bias)

    def projection(self, number: int, variable: str) -> np.ndarray:
        """Return a layer's kernels or biases for query, key and value side by side.

        They are [H, 3 H] or [3 H], so that one product can use them.
        """
        scope = f"bert/encoder/layer_{number}/attention/self"
        arrays = [self.tensors[f"{scope}/{name}/{variable}"] for name in ("query", "key", "value")]
        return np.concatenate(arrays, axis=-1)

    def attend_projected(self, projected: str, key_bias: str) -> str:
        """Return the context [B, S, H] for queries, keys and values side by side, [B, S, 3 H]."""
        query, key, value = self.graph.split(projected, [self.config.hidden_size] * 3)
        return self.attend(query, key, value, key_bias)

    def attend(self, query: str, key: str, value: str, key_bias: str) -> str:
        """Return the context [B, S, H], given query, key and value [B, S, H] and the key_bias."""
        graph, config = self.graph, self.config
        query = self.split_heads(query, (0, 2, 1, 3))
        key = self.split_heads(key, (0, 2, 3, 1))
        value = self.split_heads(value, (0, 2, 1, 3))
        width = math.sqrt(config.hidden_size // config.num_attention_heads)
        scores = graph.add("Div", graph.add("MatMul", query, key), graph.number(width))
        probabilities = self.normalized_scores(scores, key_bias)
        context = graph.add("Transpose", graph.add("MatMul", probabilities, value), perm=[0, 2, 1, 3])
        return graph.add("Reshape", context, graph.numbers(0, 0, config.hidden_size))

    def normalized_scores(self, scores: str, key_bias: str) -> str:
        """Return the attention probabilities [B, N, S, S]."""
        return self.graph.add("Softmax", self.graph.add("Add", scores, key_bias), axis=-1)

    def layer(self, x: str, number: int, key_bias: str) -> str:
        graph = self.graph
        scope = f"bert/encoder/layer_{number}"
        context = self.attention(x, number, key_bias)
        attended = self.dense(context, f"{scope}/attention/output/dense")
        x = self.norm(graph.add("Add", attended, x), f"{scope}/attention/output/LayerNorm")
        wide = activate(graph, self.dense(x, f"{scope}/intermediate/dense"), self.config.activation)
        narrow = self.dense(wide, f"{scope}/output/dense")
        return self.norm(graph.add("Add", narrow, x), f"{scope}/output/LayerNorm")

    def states(self) -> list[str]:
        """Return the outputs of embedding and layers, [B, S, H] each."""
        x = self.embeddings()
        key_bias = self.key_bias()
        states = [x]
        for number in range(self.config.num_hidden_layers):
            x = self.layer(x, number, key_bias)
            states.append(x)
        return states

    def first(self, x: str) -> str:
        """Return the first token's row: [B, S, H] -> [B, H]."""
        return self.graph.add("Gather", x, self.graph.constant("zero", np.array(0, np.int64)), axis=1)

    def pool(self, x: str) -> str:
        """Return the pooler's output: [B, S, H] -> [B, H]."""
        dense = self.dense(self.first(x), "bert/pooler/dense")
        return activate(self.graph, dense, self.config.network.pooler_activation)

    def mean(self, x: str) -> str:
        """Return the mean over tokens without padding: [B, S, H] -> [B, H]."""
        graph = self.graph
        # Exclude padding from the sum and from the number.
        real = graph.add("Unsqueeze", graph.add("Cast", INPUTS[1], to=TensorProto.FLOAT), graph.numbers(2))
        total = graph.add("ReduceSum", graph.add("Mul", x, real), graph.numbers(1), keepdims=0)
        return graph.add("Div", total, graph.add("ReduceSum", real, graph.numbers(1), keepdims=0))

    def masked_words(self, x: str, places: str) -> str:
        """Return the masked-LM head's logits [M, V] at `places`, int64 [M, 2], in x [B, S, H]."""
        graph = self.graph
        scope = "cls/predictions"
        rows = self.dense(graph.add("GatherND", x, places), f"{scope}/transform/dense")
        rows = self.norm(activate(graph, rows, self.config.masked_lm_activation), f"{scope}/transform/LayerNorm")
        # Gemm with transB uses the tied word embeddings without a transposed copy.
        words = self.weight("bert/embeddings/word_embeddings")
        return graph.add("Gemm", rows, words, self.weight(f"{scope}/output_bias"), transB=1)

    def next_sentence(self, x: str) -> str:
        """Return the next-sentence head's logits [B, 2]; column 0 is "B follows A"."""
        scope = "cls/seq_relationship"
        weights = self.weight(f"{scope}/output_weights")
        return self.graph.add("Gemm", self.pool(x), weights, self.weight(f"{scope}/output_bias"), transB=1)

    def text_row(self, x: str, text_input: TextInput) -> str:
        """Return the text head's input from the last layer's output: [B, S, H] -> [B, H]."""
        return {POOLED: self.pool, FIRST: self.first, MEAN: self.mean}[text_input](x)

    def logits(self, head: HeadSpec) -> str:
        """Add encoder and head, and return x Wᵀ + b: [B, n] for texts or [B, S, n] for tokens."""
        graph = self.graph
        states = self.states()
        if head.is_text_classifier:
            x = self.text_row(states[-1], head.text_input)
        else:
            chosen = [states[state_index(layer, self.config.num_hidden_layers)] for layer in head.layers]
            x = graph.add("Concat", *chosen, axis=-1) if len(chosen) > 1 else chosen[0]
        name = f"{head.scope}output_weights"  # stored as [n, W]
        # Transpose here: onnxruntime fuses and quantizes MatMul with a constant, but not with a
        # Transpose before it.
        kernel = graph.constant(f"{name}:transposed", np.ascontiguousarray(self.tensors[name].T))
        return graph.add("Add", graph.add("MatMul", x, kernel), self.weight(f"{head.scope}output_bias"))
