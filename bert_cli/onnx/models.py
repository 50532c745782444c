"""Whole ONNX models of a BERT: for a file, of padded token ids, and for the engines here, whose
products compute no padding.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper

from bert_cli.base.head_types import CLASSIFIER, ENCODER, TAGGER, HeadSpec
from bert_cli.base.spec import INPUTS
from bert_cli.model.config import BertConfig
from bert_cli.onnx.bert import Bert
from bert_cli.onnx.graph import CANDIDATES, Graph, Input, Shape, assemble
from bert_cli.onnx.session import Runner, RunnerMaker, make_runner

_TEXTS = ("batch", "length")  # the shape of ids
_SPANS = ("start_logits", "end_logits")


def build(
    tensors: Mapping[str, np.ndarray],
    config: BertConfig,
    head: HeadSpec,
    metadata: dict[str, str],
    network: type[Bert] = Bert,
) -> onnx.ModelProto:
    """An ONNX model with the inputs input_word_ids, input_mask and input_type_ids, int32 [batch,
    length], of any sizes.

    tensors: Google's name -> float32, encoder and head. Outputs, float32: of a classifier
    `probabilities` [batch, n], or `value` [batch] of a regression, of a tagger `probabilities`
    [batch, length, n], of spans `start_logits` and `end_logits` [batch, length], of an encoder
    `sequence_output` [batch, length, H] and, where there is a pooler, `pooled_output` [batch, H].
    `metadata` is kept in metadata_props. network: Bert for float32, int8.PaddedInt8Bert.
    """
    graph = Graph()
    shapes = _add_outputs(network(graph, tensors, config), head)
    inputs = {name: Input(TensorProto.INT32, _TEXTS) for name in INPUTS}
    model = assemble(graph, inputs, shapes)
    helper.set_model_props(model, metadata)
    # Finds wrong shapes and names when the file is made, not when a program loads it.
    onnx.checker.check_model(model)
    return model


def _add_outputs(bert: Bert, head: HeadSpec) -> dict[str, Shape]:
    """Adds the network and its outputs; returns the shape of each output."""
    graph = bert.graph
    hidden = bert.config.hidden_size
    if head.kind == ENCODER:
        last = bert.states()[-1]
        graph.add("Identity", last, name="sequence_output")
        shapes: dict[str, Shape] = {"sequence_output": ["batch", "length", hidden]}
        if "bert/pooler/dense/kernel" in bert.tensors:
            graph.add("Identity", bert.pooled(last), name="pooled_output")
            shapes["pooled_output"] = ["batch", hidden]
        return shapes
    logits = bert.logits(head)
    if head.kind == TAGGER:
        graph.add("Softmax", logits, name="probabilities", axis=-1)
        return {"probabilities": ["batch", "length", head.count]}
    if head.kind != CLASSIFIER:
        for column, name in enumerate(_SPANS):
            # A scalar index, which drops the axis; a list of one would keep it.
            index = graph.constant(f"place:{column}", np.array(column, np.int64))
            graph.add("Gather", logits, index, name=name, axis=2)
        return {name: ["batch", "length"] for name in _SPANS}
    if head.activation == "identity":
        graph.add("Squeeze", logits, graph.numbers(1), name="value")
        return {"value": ["batch"]}
    if head.temperatures:
        logits = graph.add("Div", logits, graph.constant("temperatures", np.array(head.temperatures, np.float32)))
    if head.activation == "sigmoid":
        graph.add("Sigmoid", logits, name="probabilities")
    else:
        graph.add("Softmax", logits, name="probabilities", axis=-1)
    return {"probabilities": ["batch", head.count]}


ONNXRUNTIME_DOMAIN = "com.microsoft"  # of its own operators
_EMBEDDED = "embedded"  # the input of a graph
_ROWS, _REAL = "rows", "real"  # the inputs of a FlatBert
_LARGE = 1024  # bytes; larger constants are not copied into a model


class UnpaddedBert(Bert):
    """A Bert of texts of one length, with a graph that begins at the input `embedded`, float32 [B,
    S, E]; in float32.
    """

    is_padded = False
    masking: tuple[str, ...] = ()  # further inputs of attention

    def inputs(self) -> dict[str, Input]:
        """What the graph takes, by name."""
        return {_EMBEDDED: Input(TensorProto.FLOAT, (*_TEXTS, self.config.embedding_width))}

    @staticmethod
    def fed(tables: Mapping[str, np.ndarray], batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The values of `inputs` for a batch of spec.INPUTS; tables: of the embeddings."""
        words, _, types = (batch[name] for name in INPUTS)
        return {_EMBEDDED: embed(tables, words, types, np.arange(words.shape[1]))}

    def padded(self, x: str) -> str:
        """A state, or what is made of each of its rows, as [B, S, n]."""
        return x

    def embedded(self) -> str:
        return _EMBEDDED

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
    """A Bert of texts of different lengths, whose states are the real tokens of all texts one after
    the other, [T, H]: its products compute no padding. Attention alone is computed for padded texts.
    """

    is_padded = True
    masking = ("", INPUTS[1])  # "": no bias of the projections

    def attend_projected(self, projected: str, key_bias: str) -> str:
        graph = self.graph
        context = super().attend_projected(self.padded(projected), key_bias)
        context = graph.add("Reshape", context, graph.numbers(-1, self.config.hidden_size))
        return graph.add("Gather", context, _REAL, axis=0)

    def padded(self, x: str) -> str:
        return self.graph.add("Gather", x, _ROWS, axis=0)

    def first(self, x: str) -> str:
        return self.graph.add("Gather", x, super().first(_ROWS), axis=0)

    def mean(self, x: str) -> str:
        return super().mean(self.padded(x))

    def inputs(self) -> dict[str, Input]:
        return {
            _EMBEDDED: Input(TensorProto.FLOAT, ("tokens", self.config.embedding_width)),
            INPUTS[1]: Input(TensorProto.INT32, _TEXTS),
            _ROWS: Input(TensorProto.INT64, _TEXTS),
            _REAL: Input(TensorProto.INT64, ("tokens",)),
        }

    @staticmethod
    def fed(tables: Mapping[str, np.ndarray], batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        words, mask, types = (batch[name] for name in INPUTS)
        real = np.flatnonzero(mask)
        # A padded place has the row of the last real token before it; no attention goes to it.
        rows = np.cumsum(mask, dtype=np.int64).reshape(mask.shape) - 1
        embedded = embed(tables, words.ravel()[real], types.ravel()[real], real % words.shape[1])
        return {_EMBEDDED: embedded, INPUTS[1]: mask, _ROWS: rows, _REAL: real}


class AttentionBert(UnpaddedBert):
    """An UnpaddedBert that also gives the attention of each layer, `attention_0`, … [B, N, S, S]."""

    def attend(self, query: str, key: str, value: str, key_bias: str) -> str:
        # In single operators: the fused one does not give its probabilities.
        return Bert.attend(self, query, key, value, key_bias)

    def normalized_scores(self, scores: str, key_bias: str) -> str:
        graph = self.graph
        number = sum(node.op_type == "Softmax" for node in graph.nodes)
        return graph.add("Softmax", scores, name=f"attention_{number}", axis=-1)


def embed(tables: Mapping[str, np.ndarray], words: np.ndarray, types: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """What Bert.embedded gives for ids of one shape [...], without a graph that would keep the
    tables: float32 [..., E]. Positions [S] count for each text of ids [B, S].
    """
    scope = "bert/embeddings"
    # Indexing copies, so the sums below change no table.
    total = tables[f"{scope}/word_embeddings"][words]
    if f"{scope}/token_type_embeddings" in tables:
        total += tables[f"{scope}/token_type_embeddings"][types]
    total += tables[f"{scope}/position_embeddings"][positions]
    return total


def embedded_runner(
    bert: UnpaddedBert,
    outputs: Mapping[str, Shape],
    indices: Mapping[str, Shape] | None = None,
    make: RunnerMaker = make_runner,
) -> Runner:
    """Gives these outputs of the Bert's graph, with their shapes, for batches of spec.INPUTS, int32
    [B, S], and of `indices`, int64 with their shapes.

    Of a batch the mask is not read, but by a FlatBert: all texts have S tokens. make: what
    computes the graph.
    """
    # The model would else be copied into protobuf, where a message ends at 2 GB.
    external = {name: value for name, value in bert.graph.constants.items() if value.nbytes >= _LARGE}
    more = {name: Input(TensorProto.INT64, shape) for name, shape in (indices or {}).items()}
    model = assemble(bert.graph, bert.inputs() | more, outputs, external)
    run = make(model.SerializeToString(), external)
    # Only the tables: all other weights are held by what computes from here on.
    tables = {name: value for name, value in bert.tensors.items() if "_embeddings" in name}
    fed = bert.fed  # a static method, as the Bert itself holds all of them
    return lambda batch: run(fed(tables, batch) | {name: batch[name] for name in more})


def encoder_runner(
    network: type[UnpaddedBert],
    tensors: Mapping[str, np.ndarray],
    config: BertConfig,
    indices: Sequence[int],
    make: RunnerMaker = make_runner,
) -> Runner:
    """Gives float32 `state_0`, … [B, S, H] of a batch: the outputs of the layers with these
    indices, 0 for the embedding.

    network: FlatBert for float32, AttentionBert, int8.Int8Bert. tensors: Google's name ->
    float32. Without indices there is one output, `pooled_output` [B, H]. An AttentionBert's
    attention is in the outputs, too. See also embedded_runner.
    """
    bert = network(Graph(), tensors, config)
    states = bert.states()
    hidden = config.hidden_size
    outputs: dict[str, Shape] = {}
    if issubclass(network, AttentionBert):
        heads = config.num_attention_heads
        shape = ("batch", heads, "length", "length")
        outputs |= {f"attention_{number}": shape for number in range(config.num_hidden_layers)}
    if not indices:
        bert.graph.add("Identity", bert.pooled(states[-1]), name="pooled_output")
        return embedded_runner(bert, outputs | {"pooled_output": ("batch", hidden)}, make=make)
    for number, index in enumerate(indices):
        name = bert.graph.add("Identity", bert.padded(states[index]), name=f"state_{number}")
        outputs[name] = (*_TEXTS, hidden)
    return embedded_runner(bert, outputs, make=make)


def masked_words_runner(
    tensors: Mapping[str, np.ndarray], config: BertConfig, words: int, make: RunnerMaker = make_runner
) -> Runner:
    """See engine.InferenceEngine.masked_words."""
    bert = UnpaddedBert(Graph(), tensors, config)
    graph = bert.graph
    last = bert.states()[-1]
    logits = bert.masked_words(last, "masked")
    # A model may have more rows than the vocabulary has words; these are never candidates.
    logits = graph.add("Slice", logits, graph.numbers(0), graph.numbers(words), graph.numbers(1))
    probabilities = graph.add("Softmax", logits, axis=-1)
    graph.add_named("TopK", probabilities, "top_k", names=("probabilities", CANDIDATES), axis=-1)
    outputs: dict[str, Shape] = {"probabilities": ("masks", "best"), CANDIDATES: ("masks", "best")}
    if "cls/seq_relationship/output_weights" in tensors and "bert/pooler/dense/kernel" in tensors:
        graph.add("Softmax", bert.next_sentence(last), name="next_sentence", axis=-1)
        outputs["next_sentence"] = ("batch", 2)
    return embedded_runner(bert, outputs, {"masked": ("masks", 2), "top_k": (1,)}, make)


def logits_runner(
    network: type[UnpaddedBert],
    tensors: Mapping[str, np.ndarray],
    config: BertConfig,
    head: HeadSpec,
    make: RunnerMaker = make_runner,
) -> Runner:
    """Gives `logits` of a batch, float32: [B, n] of a head of texts, [B, S, n] of a head of tokens.

    network: FlatBert for float32, int8.Int8Bert; see encoder_runner.
    """
    bert = network(Graph(), tensors, config)
    logits = bert.logits(head)
    bert.graph.add("Identity", logits if head.is_of_texts else bert.padded(logits), name="logits")
    shape = ("batch", head.count) if head.is_of_texts else ("batch", "length", head.count)
    return embedded_runner(bert, {"logits": shape}, make=make)
