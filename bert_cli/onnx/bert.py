"""A BERT as an ONNX graph, from its tensors; needs the package onnx of the extra onnx.

The graph is written operator by operator, in the forms that onnxruntime fuses and quantizes: two-dimensional constants as
second factors of MatMul, LayerNormalization and Gelu as single operators (opset 20).
"""

import math
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from bert_cli.base.head_types import (
    CLASSIFIER,
    FIRST,
    MEAN,
    POOLED,
    SPANS,
    TAGGER,
)
from bert_cli.features.spec import INPUTS
from bert_cli.model.config import MASKED_SCORE, BertConfig

OPSET, IR_VERSION = 20, 9  # the newest that onnxruntime 1.17 and later read


class Graph:
    """Nodes and constants as they are added; each method returns the name of its result."""

    def __init__(self):
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}

    def add(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        name = name or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=f"{name}:{kind}", **attributes))
        return name

    def split(self, x: str, widths: Sequence[int]) -> list[str]:
        """Parts of these widths along the last axis."""
        names = [f"{x}:part_{number}" for number in range(len(widths))]
        self.nodes.append(helper.make_node("Split", [x, self.numbers(*widths)], names, name=f"{x}:Split", axis=-1))
        return names

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants[name] = value
        return name

    def numbers(self, *values: int) -> str:
        """A list of whole numbers, int64 [n]."""
        return self.constant("numbers:" + ",".join(map(str, values)), np.array(values, np.int64))

    def number(self, value: float) -> str:
        return self.constant(f"number:{value!r}", np.array(value, np.float32))


def activate(graph: Graph, x: str, activation: str) -> str:
    if activation == "linear":
        return x
    if activation.startswith("gelu"):
        return graph.add("Gelu", x, approximate="tanh" if activation == "gelu_tanh" else "none")
    return graph.add({"relu": "Relu", "tanh": "Tanh"}[activation], x)


class Bert:
    """The encoder's parts; `tensors` are under Google's names."""

    def __init__(self, graph: Graph, tensors: Mapping[str, np.ndarray], config: BertConfig):
        self.graph, self.tensors, self.config = graph, tensors, config

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
        """The sum of the three embeddings, [B, S, H]; see also unpadded.embed."""
        graph, scope = self.graph, "bert/embeddings"
        words = graph.add("Gather", self.weight(f"{scope}/word_embeddings"), INPUTS[0])
        types = graph.add("Gather", self.weight(f"{scope}/token_type_embeddings"), INPUTS[2])
        length = graph.add("Shape", INPUTS[0], start=1, end=2)
        positions = self.weight(f"{scope}/position_embeddings")
        positions = graph.add("Slice", positions, graph.numbers(0), length, graph.numbers(0))  # [S, H]
        return graph.add("Add", graph.add("Add", words, types), positions)

    def embeddings(self) -> str:
        """[B, S, H]."""
        return self.norm(self.embedded(), "bert/embeddings/LayerNorm")

    def key_bias(self) -> str:
        """[B, 1, 1, S]: 0 for a real key, -10000 for a padded one."""
        graph = self.graph
        padded = graph.add("Sub", graph.number(1.0), graph.add("Cast", INPUTS[1], to=TensorProto.FLOAT))
        return graph.add("Unsqueeze", graph.add("Mul", padded, graph.number(MASKED_SCORE)), graph.numbers(1, 2))

    def _heads(self, x: str, permutation: Sequence[int]) -> str:
        """[B, S, H] -> [B, N, S, D], or with the other permutation [B, N, D, S]."""
        heads = self.config.num_attention_heads
        shape = self.graph.numbers(0, 0, heads, self.config.hidden_size // heads)
        return self.graph.add("Transpose", self.graph.add("Reshape", x, shape), perm=list(permutation))

    def attention(self, x: str, number: int, key_bias: str) -> str:
        """The context [B, S, H] of a layer."""
        graph, config, scope = self.graph, self.config, f"bert/encoder/layer_{number}/attention/self"
        query = self._heads(self.dense(x, f"{scope}/query"), (0, 2, 1, 3))
        key = self._heads(self.dense(x, f"{scope}/key"), (0, 2, 3, 1))
        value = self._heads(self.dense(x, f"{scope}/value"), (0, 2, 1, 3))
        width = math.sqrt(config.hidden_size // config.num_attention_heads)
        scores = graph.add("Div", graph.add("MatMul", query, key), graph.number(width))
        probabilities = graph.add("Softmax", graph.add("Add", scores, key_bias), axis=-1)
        context = graph.add("Transpose", graph.add("MatMul", probabilities, value), perm=[0, 2, 1, 3])
        return graph.add("Reshape", context, graph.numbers(0, 0, config.hidden_size))

    def layer(self, x: str, number: int, key_bias: str) -> str:
        graph, scope = self.graph, f"bert/encoder/layer_{number}"
        context = self.attention(x, number, key_bias)
        attended = self.dense(context, f"{scope}/attention/output/dense")
        x = self.norm(graph.add("Add", attended, x), f"{scope}/attention/output/LayerNorm")
        wide = activate(graph, self.dense(x, f"{scope}/intermediate/dense"), self.config.activation)
        return self.norm(graph.add("Add", self.dense(wide, f"{scope}/output/dense"), x), f"{scope}/output/LayerNorm")

    def states(self) -> list[str]:
        """What the embedding gives and each layer, [B, S, H] each."""
        x, key_bias = self.embeddings(), self.key_bias()
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
        return self.graph.add("Tanh", self.dense(self.first(x), "bert/pooler/dense"))

    def mean(self, x: str) -> str:
        """The mean over the tokens, without padding: [B, S, H] -> [B, H]."""
        graph = self.graph
        real = graph.add("Unsqueeze", graph.add("Cast", INPUTS[1], to=TensorProto.FLOAT), graph.numbers(2))
        total = graph.add("ReduceSum", graph.add("Mul", x, real), graph.numbers(1), keepdims=0)
        return graph.add("Div", total, graph.add("ReduceSum", real, graph.numbers(1), keepdims=0))

    def text_rows(self, states: Sequence[str], head_input: str) -> str:
        """What a head of texts reads, see base.head_types: [B, H]."""
        return {POOLED: self.pooled, FIRST: self.first, MEAN: self.mean}[head_input](states[-1])

    def token_rows(self, states: Sequence[str], layers: Sequence[int]) -> str:
        """What a head of tokens reads: the outputs of these layers, counted as Python does, side by side: [B, S, W]."""
        outputs = states[1:]
        chosen = [outputs[layer] for layer in layers]
        return self.graph.add("Concat", *chosen, axis=-1) if len(chosen) > 1 else chosen[0]

    def head(self, x: str, scope: str = "") -> str:
        """Logits x Wᵀ + b of a head whose weights are kept as [n, W]."""
        name = f"{scope}output_weights"
        kernel = self.graph.constant(f"{name}:transposed", np.ascontiguousarray(self.tensors[name].T))
        return self.graph.add("Add", self.graph.add("MatMul", x, kernel), self.weight(f"{scope}output_bias"))


def _outputs(bert: Bert, kind: str, layers: Sequence[int], activation: str, head_input: str) -> dict[str, list]:
    """Adds what stands on the encoder; returns the shape of each output: B is the batch, S the length."""
    graph, states = bert.graph, bert.states()
    hidden = bert.config.hidden_size
    if kind == CLASSIFIER:
        logits = bert.head(bert.text_rows(states, head_input))
        if activation == "identity":
            graph.add("Squeeze", logits, graph.numbers(1), name="value")
            return {"value": ["batch"]}
        if activation == "sigmoid":
            graph.add("Sigmoid", logits, name="probabilities")
        else:
            graph.add("Softmax", logits, name="probabilities", axis=-1)
        return {"probabilities": ["batch", len(bert.tensors["output_bias"])]}
    if kind == TAGGER:
        graph.add("Softmax", bert.head(bert.token_rows(states, layers)), name="probabilities", axis=-1)
        return {"probabilities": ["batch", "length", len(bert.tensors["output_bias"])]}
    if kind == SPANS:
        logits = bert.head(states[-1], "cls/squad/")
        for place, name in enumerate(("start_logits", "end_logits")):
            graph.add("Gather", logits, graph.constant(f"place:{place}", np.array(place, np.int64)), name=name, axis=2)
        return {name: ["batch", "length"] for name in ("start_logits", "end_logits")}
    graph.add("Identity", states[-1], name="sequence_output")
    shapes: dict[str, list] = {"sequence_output": ["batch", "length", hidden]}
    if "bert/pooler/dense/kernel" in bert.tensors:
        graph.add("Identity", bert.pooled(states[-1]), name="pooled_output")
        shapes["pooled_output"] = ["batch", hidden]
    return shapes


def build(
    tensors: dict[str, np.ndarray],
    config: BertConfig,
    kind: str,
    metadata: dict[str, str],
    layers: Sequence[int] = (-1,),
    activation: str = "softmax",
    head_input: str = POOLED,
) -> onnx.ModelProto:
    """An ONNX model with the inputs input_word_ids, input_mask and input_type_ids, int32 [batch, length], of any sizes.

    tensors: Google's name -> float32, encoder and head. kind: one of this module's. Outputs, float32: of a classifier
    `probabilities` [batch, n], or `value` [batch] of an `activation` identity, of a tagger `probabilities` [batch,
    length, n] (it reads the outputs of `layers` side by side), of spans `start_logits` and `end_logits` [batch, length], of
    an encoder `sequence_output` [batch, length, H] and, where there is a pooler, `pooled_output` [batch, H]. `metadata` is
    kept in metadata_props.
    """
    graph = Graph()
    shapes = _outputs(Bert(graph, tensors, config), kind, layers, activation, head_input)
    model = assemble(graph, INPUTS, shapes)
    helper.set_model_props(model, metadata)
    onnx.checker.check_model(model)
    return model


def assemble(
    graph: Graph,
    inputs: Sequence[str],
    outputs: Mapping[str, Sequence[str | int]],
    fed: Mapping[str, Sequence[str | int]] | None = None,
    apart: Container[str] = (),
) -> onnx.ModelProto:
    """A model of what was added to the graph. inputs: int32 [batch, length]; outputs: float32, with their shapes.

    fed: further inputs, float32, with their shapes. apart: constants of which the model has no copy, see running.make_runner.
    """
    taken = [helper.make_tensor_value_info(name, TensorProto.INT32, ["batch", "length"]) for name in inputs]
    taken += [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (fed or {}).items()]
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()]
    constants = [
        _elsewhere(name, value) if name in apart else numpy_helper.from_array(value, name)
        for name, value in graph.constants.items()
    ]
    made = helper.make_graph(graph.nodes, "bert", taken, given, constants)
    domains = sorted({node.domain for node in graph.nodes} | {""})
    opsets = [helper.make_opsetid(domain, 1 if domain else OPSET) for domain in domains]
    model = helper.make_model(made, opset_imports=opsets, producer_name="bert_cli")
    model.ir_version = IR_VERSION
    return model


def _elsewhere(name: str, value: np.ndarray) -> onnx.TensorProto:
    """A constant whose values the model does not hold."""
    dtype = helper.np_dtype_to_tensor_dtype(value.dtype)
    tensor = TensorProto(name=name, data_type=dtype, dims=value.shape, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="memory")
    return tensor
