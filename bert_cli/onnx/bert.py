"""A BERT as nodes of an ONNX graph, from its tensors."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from onnx import TensorProto

from bert_cli.base.head_types import FIRST, MEAN, POOLED, HeadSpec, TextInput, state_place
from bert_cli.base.spec import INPUTS
from bert_cli.model.config import MASKED_SCORE, BertConfig
from bert_cli.model.shapes import PROJECTION
from bert_cli.onnx.graph import Graph, activate

TOKEN_TYPES = "bert/embeddings/token_type_embeddings"


def type_table(table: np.ndarray) -> np.ndarray:
    """Return token type embeddings [types, E] with a row for the types 0 and 1 at least.

    A type without a row adds nothing: the original multiplies one-hot rows.
    """
    missing = max(0, 2 - len(table))
    return np.pad(table, [(0, missing), (0, 0)])


class Bert:
    """The encoder and a head as nodes of a graph, for padded texts; `tensors` are under Google's
    names.
    """

    def __init__(self, graph: Graph, tensors: Mapping[str, np.ndarray], config: BertConfig):
        self.graph = graph
        self.tensors = tensors
        self.config = config

    def weight(self, name: str) -> str:
        return self.graph.constant(name, self.tensors[name])

    def dense(self, x: str, scope: str) -> str:
        """x W + b over the last axis."""
        product = self.graph.add("MatMul", x, self.weight(f"{scope}/kernel"))
        return self.graph.add("Add", product, self.weight(f"{scope}/bias"))

    def norm(self, x: str, scope: str) -> str:
        return self.normalized(x, self.weight(f"{scope}/gamma"), self.weight(f"{scope}/beta"))

    def normalized(self, x: str, gamma: str, beta: str) -> str:
        return self.graph.add("LayerNormalization", x, gamma, beta, axis=-1, epsilon=self.config.layer_norm_eps)

    def embedded(self) -> str:
        """The sum of the embeddings, [B, S, E]; see also models.embed."""
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
        """[B, S, E]."""
        return self.graph.add("Gather", self.weight("bert/embeddings/word_embeddings"), INPUTS[0])

    def embeddings(self) -> str:
        """[B, S, H]."""
        x = self.norm(self.embedded(), "bert/embeddings/LayerNorm")
        return self.dense(x, PROJECTION) if self.projects else x

    @property
    def projects(self) -> bool:
        """Whether embeddings and layers are of different widths."""
        return self.config.embedding_width != self.config.hidden_size

    def key_bias(self) -> str:
        """[B, 1, 1, S]: 0 for a real key, -10000 for a padded one."""
        graph = self.graph
        padded = graph.add("Sub", graph.number(1.0), graph.add("Cast", INPUTS[1], to=TensorProto.FLOAT))
        return graph.add("Unsqueeze", graph.add("Mul", padded, graph.number(MASKED_SCORE)), graph.numbers(1, 2))

    def split_heads(self, x: str, permutation: Sequence[int]) -> str:
        """[B, S, H] -> [B, N, S, D], or with the other permutation [B, N, D, S]."""
        heads = self.config.num_attention_heads
        shape = self.graph.numbers(0, 0, heads, self.config.hidden_size // heads)
        return self.graph.add("Transpose", self.graph.add("Reshape", x, shape), perm=list(permutation))

    def attention(self, x: str, number: int, key_bias: str) -> str:
        """The context [B, S, H] of a layer."""
        scope = f"bert/encoder/layer_{number}/attention/self"
        query, key, value = (self.dense(x, f"{scope}/{each}") for each in ("query", "key", "value"))
        return self.attend(query, key, value, key_bias)

    def projection(self, number: int, variable: str) -> np.ndarray:
        """The kernels or biases of query, key and value of a layer side by side, as they are one
        product: [H, 3 H] or [3 H].
        """
        scope = f"bert/encoder/layer_{number}/attention/self"
        parts = [self.tensors[f"{scope}/{each}/{variable}"] for each in ("query", "key", "value")]
        return np.concatenate(parts, axis=-1)

    def attend_projected(self, projected: str, key_bias: str) -> str:
        """The context [B, S, H] of queries, keys and values side by side, [B, S, 3 H]."""
        query, key, value = self.graph.split(projected, [self.config.hidden_size] * 3)
        return self.attend(query, key, value, key_bias)

    def attend(self, query: str, key: str, value: str, key_bias: str) -> str:
        """Of [B, S, H] each, the context [B, S, H]."""
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
        """The attention probabilities [B, N, S, S]."""
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
        """What the embedding gives and each layer, [B, S, H] each."""
        x = self.embeddings()
        key_bias = self.key_bias()
        states = [x]
        for number in range(self.config.num_hidden_layers):
            x = self.layer(x, number, key_bias)
            states.append(x)
        return states

    def first(self, x: str) -> str:
        """The first token's row: [B, S, H] -> [B, H]."""
        return self.graph.add("Gather", x, self.graph.constant("zero", np.array(0, np.int64)), axis=1)

    def pooled(self, x: str) -> str:
        """[B, S, H] -> [B, H]."""
        dense = self.dense(self.first(x), "bert/pooler/dense")
        return activate(self.graph, dense, self.config.network.pooler_activation)

    def mean(self, x: str) -> str:
        """The mean over the tokens, without padding: [B, S, H] -> [B, H]."""
        graph = self.graph
        # Padding counts neither in the sum nor in the number.
        real = graph.add("Unsqueeze", graph.add("Cast", INPUTS[1], to=TensorProto.FLOAT), graph.numbers(2))
        total = graph.add("ReduceSum", graph.add("Mul", x, real), graph.numbers(1), keepdims=0)
        return graph.add("Div", total, graph.add("ReduceSum", real, graph.numbers(1), keepdims=0))

    def masked_words(self, x: str, places: str) -> str:
        """The logits [M, V] of the masked-LM head at `places`, int64 [M, 2], of x [B, S, H]."""
        graph = self.graph
        scope = "cls/predictions"
        rows = self.dense(graph.add("GatherND", x, places), f"{scope}/transform/dense")
        rows = self.norm(activate(graph, rows, self.config.masked_lm_activation), f"{scope}/transform/LayerNorm")
        # Tied to the word embeddings, which are not copied for a transposed constant.
        words = self.weight("bert/embeddings/word_embeddings")
        return graph.add("Gemm", rows, words, self.weight(f"{scope}/output_bias"), transB=1)

    def next_sentence(self, x: str) -> str:
        """The logits [B, 2] of the next-sentence head: column 0 is "B follows A"."""
        scope = "cls/seq_relationship"
        weights = self.weight(f"{scope}/output_weights")
        return self.graph.add("Gemm", self.pooled(x), weights, self.weight(f"{scope}/output_bias"), transB=1)

    def text_row(self, x: str, text_input: TextInput) -> str:
        """What a head of texts reads of the last layer's output: [B, S, H] -> [B, H]."""
        return {POOLED: self.pooled, FIRST: self.first, MEAN: self.mean}[text_input](x)

    def logits(self, head: HeadSpec) -> str:
        """Adds the encoder and the head x Wᵀ + b: [B, n] of a head of texts, [B, S, n] of a head of
        tokens.
        """
        graph = self.graph
        states = self.states()
        if head.is_of_texts:
            x = self.text_row(states[-1], head.text_input)
        else:
            chosen = [states[state_place(layer, self.config.num_hidden_layers)] for layer in head.layers]
            x = graph.add("Concat", *chosen, axis=-1) if len(chosen) > 1 else chosen[0]
        name = f"{head.scope}output_weights"  # kept as [n, W]
        # Transposed here, as onnxruntime fuses and quantizes MatMul with a constant, but no
        # Transpose before it.
        kernel = graph.constant(f"{name}:transposed", np.ascontiguousarray(self.tensors[name].T))
        return graph.add("Add", graph.add("MatMul", x, kernel), self.weight(f"{head.scope}output_bias"))
