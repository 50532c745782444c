"""ONNX models for this package's engines, with products that skip padding."""

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import TensorProto

from bert_cli.base.head_types import HeadSpec
from bert_cli.base.spec import INPUTS
from bert_cli.model.config import BertConfig
from bert_cli.onnx.bert import TOKEN_TYPES, Bert, type_table
from bert_cli.onnx.graph import TEXTS, Graph, assemble
from bert_cli.onnx.session import Runner, RunnerMaker, make_runner

ONNXRUNTIME_DOMAIN = "com.microsoft"  # domain of onnxruntime's custom operators
_EMBEDDED = "embedded"  # a graph's input
_ROWS, _REAL = "rows", "real"  # a FlatBert's inputs
_LARGE = 1024  # bytes; larger constants stay outside the model


class UnpaddedBert(Bert):
    """A float32 Bert for texts of one length, with the input `embedded`, float32 [B, S, E]."""

    masking: tuple[str, ...] = ()  # additional inputs of attention

    @staticmethod
    def graph_inputs(tables: Mapping[str, np.ndarray], batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return additional inputs for a batch of spec.INPUTS, made with the embedding `tables`."""
        words, _, types = (batch[name] for name in INPUTS)
        return {_EMBEDDED: embed(tables, words, types, np.arange(words.shape[1]))}

    def pad(self, x: str) -> str:
        """Return a state, or values per state row, as [B, S, n]."""
        return x

    def embed(self) -> str:
        return self.graph.input(_EMBEDDED, (*TEXTS, self.config.embedding_width), TensorProto.FLOAT)

    def key_bias(self) -> str:
        return ""

    def attend(self, query: str, key: str, value: str, key_bias: str) -> str:
        heads = self.config.num_attention_heads
        inputs = (query, key, value, *self.masking)
        return self.graph.add("MultiHeadAttention", *inputs, num_heads=heads, domain=ONNXRUNTIME_DOMAIN)

    def attention(self, x: str, number: int, key_bias: str) -> str:
        graph = self.graph
        scope = f"bert/encoder/layer_{number}/attention/self"
        kernel, bias = (
            graph.constant(f"{scope}:{variable}", self.projection(number, variable)) for variable in ("kernel", "bias")
        )
        return self.attend_projected(graph.add("Add", graph.add("MatMul", x, kernel), bias), key_bias)


class FlatBert(UnpaddedBert):
    """A Bert for texts of different lengths, with products that skip padding.

    Its states are the real tokens from all texts one after the other, [T, H]. Only attention uses
    padded texts.
    """

    masking = ("", INPUTS[1])  # "": projections have no bias

    def attend_projected(self, projected: str, key_bias: str) -> str:
        graph = self.graph
        context = super().attend_projected(self.pad(projected), key_bias)
        context = graph.add("Reshape", context, graph.numbers(-1, self.config.hidden_size))
        return graph.add("Gather", context, _REAL, axis=0)

    def pad(self, x: str) -> str:
        return self.graph.add("Gather", x, _ROWS, axis=0)

    def first(self, x: str) -> str:
        return self.graph.add("Gather", x, super().first(_ROWS), axis=0)

    def mean(self, x: str) -> str:
        return super().mean(self.pad(x))

    def embed(self) -> str:
        self.graph.input(INPUTS[1], TEXTS, TensorProto.INT32)
        self.graph.input(_ROWS, TEXTS)
        self.graph.input(_REAL, ("tokens",))
        return self.graph.input(_EMBEDDED, ("tokens", self.config.embedding_width), TensorProto.FLOAT)

    @staticmethod
    def graph_inputs(tables: Mapping[str, np.ndarray], batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        words, mask, types = (batch[name] for name in INPUTS)
        real = np.flatnonzero(mask)
        # A padded position uses the row of the last real token before it; attention ignores it.
        rows = np.cumsum(mask, dtype=np.int64).reshape(mask.shape) - 1
        embedded = embed(tables, words.ravel()[real], types.ravel()[real], real % words.shape[1])
        return {_EMBEDDED: embedded, _ROWS: rows, _REAL: real}


class AttentionBert(UnpaddedBert):
    """An UnpaddedBert with each layer's attention as outputs, `attention_0`, … [B, N, S, S]."""

    def attend(self, query: str, key: str, value: str, key_bias: str) -> str:
        # Use single operators: the fused operator does not return its probabilities.
        return Bert.attend(self, query, key, value, key_bias)

    def normalized_scores(self, scores: str, key_bias: str) -> str:
        number = sum(node.op_type == "Softmax" for node in self.graph.nodes)
        shape = ("batch", self.config.num_attention_heads, "length", "length")
        return self.graph.output(f"attention_{number}", shape, "Softmax", scores, axis=-1)


def embed(tables: Mapping[str, np.ndarray], words: np.ndarray, types: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return the sum of embeddings like Bert.embedded, float32 [..., E], without a graph.

    A graph would keep the tables in memory.

    Args:
        tables: Google's name -> float32.
        words: token ids [...].
        types: token type ids [...].
        positions: positions [...], or [S] for ids [B, S].
    """
    scope = "bert/embeddings"
    # Indexing copies, so the sums change no table.
    total = tables[f"{scope}/word_embeddings"][words]
    if TOKEN_TYPES in tables:
        total += tables[TOKEN_TYPES][types]
    total += tables[f"{scope}/position_embeddings"][positions]
    return total


def embedded_runner(bert: UnpaddedBert, make: RunnerMaker = make_runner) -> Runner:
    """Return a runner for the Bert's graph.

    It needs batches of spec.INPUTS, int32 [B, S], and the graph's additional inputs. If the network
    is a FlatBert, it uses the mask. If not, all texts must have S tokens.

    Args:
        bert: network with outputs.
        make: function that makes the graph's runner.
    """
    # If large constants were copied into the protobuf message, it could exceed its limit of 2 GB.
    external = {name: value for name, value in bert.graph.constants.items() if value.nbytes >= _LARGE}
    run = make(assemble(bert.graph, external).SerializeToString(), external)
    # Keep only the tables: the runner holds all other weights.
    tables = {name: value for name, value in bert.tensors.items() if "_embeddings" in name}
    if TOKEN_TYPES in tables:
        tables[TOKEN_TYPES] = type_table(tables[TOKEN_TYPES])
    graph_inputs = bert.graph_inputs  # a static method, because the Bert itself holds all weights
    return lambda batch: run(batch | graph_inputs(tables, batch))


def encoder_runner(
    network: type[UnpaddedBert],
    tensors: Mapping[str, np.ndarray],
    config: BertConfig,
    indices: Sequence[int],
    make: RunnerMaker = make_runner,
) -> Runner:
    """Return a runner with float32 outputs `state_0`, … [B, S, H], one per index.

    Without indices, there is one output, `pooled_output` [B, H]. An AttentionBert has its attention
    as outputs, too. See also embedded_runner.

    Args:
        network: FlatBert for float32, AttentionBert, or int8.Int8Bert.
        tensors: Google's name -> float32.
        config: the model's configuration.
        indices: layers to return, 0 for the embedding.
        make: function that makes the graph's runner.
    """
    bert = network(Graph(), tensors, config)
    states = bert.states()
    hidden = config.hidden_size
    if not indices:
        bert.graph.output("pooled_output", ("batch", hidden), "Identity", bert.pool(states[-1]))
    for number, index in enumerate(indices):
        bert.graph.output(f"state_{number}", (*TEXTS, hidden), "Identity", bert.pad(states[index]))
    return embedded_runner(bert, make)


def masked_words_runner(
    tensors: Mapping[str, np.ndarray], config: BertConfig, words: int, make: RunnerMaker = make_runner
) -> Runner:
    """Return a runner for pre-trained heads, see engine.InferenceEngine.masked_words.

    Args:
        tensors: Google's name -> float32.
        config: the model's configuration.
        words: number of vocabulary entries that can be candidates.
        make: function that makes the graph's runner.
    """
    bert = UnpaddedBert(Graph(), tensors, config)
    graph = bert.graph
    last = bert.states()[-1]
    logits = bert.masked_words(last, graph.input("masked", ("masks", 2)))
    # Exclude rows beyond the vocabulary, which can never be candidates.
    logits = graph.add("Slice", logits, graph.numbers(0), graph.numbers(words), graph.numbers(1))
    probabilities = graph.add("Softmax", logits, axis=-1)
    best, candidates = graph.add_outputs("TopK", probabilities, graph.input("top_k", (1,)), count=2, axis=-1)
    graph.output("probabilities", ("masks", "best"), "Identity", best)
    graph.output("candidates", ("masks", "best"), "Identity", candidates, dtype=TensorProto.INT64)
    if "cls/seq_relationship/output_weights" in tensors and "bert/pooler/dense/kernel" in tensors:
        graph.output("next_sentence", ("batch", 2), "Softmax", bert.next_sentence(last), axis=-1)
    return embedded_runner(bert, make)


def logits_runner(
    network: type[UnpaddedBert],
    tensors: Mapping[str, np.ndarray],
    config: BertConfig,
    head: HeadSpec,
    make: RunnerMaker = make_runner,
) -> Runner:
    """Return a runner with the output `logits`, float32 [B, n] for texts or [B, S, n] for tokens.

    See also embedded_runner.

    Args:
        network: FlatBert for float32, or int8.Int8Bert.
        tensors: Google's name -> float32.
        config: the model's configuration.
        head: the head.
        make: function that makes the graph's runner.
    """
    bert = network(Graph(), tensors, config)
    logits = bert.logits(head)
    if head.is_text_classifier:
        bert.graph.output("logits", ("batch", head.num_outputs), "Identity", logits)
    else:
        bert.graph.output("logits", (*TEXTS, head.num_outputs), "Identity", bert.pad(logits))
    return embedded_runner(bert, make)
