"""A whole model of token ids as an ONNX file, in float32 or int8, and the check that it computes what it should."""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import helper

from bert_cli.base.head_types import CLASSIFIER, ENCODER, TAGGER, HeadSpec
from bert_cli.features.spec import INPUTS
from bert_cli.model.config import BertConfig
from bert_cli.onnx.bert import Bert
from bert_cli.onnx.graph import Graph, assemble
from bert_cli.onnx.session import make_runner

_SPANS = ("start_logits", "end_logits")


def build(
    tensors: Mapping[str, np.ndarray],
    config: BertConfig,
    head: HeadSpec,
    metadata: dict[str, str],
    network: type[Bert] = Bert,
) -> onnx.ModelProto:
    """An ONNX model with the inputs input_word_ids, input_mask and input_type_ids, int32 [batch, length], of any sizes.

    tensors: Google's name -> float32, encoder and head. Outputs, float32: of a classifier `probabilities` [batch, n], or
    `value` [batch] of a regression, of a tagger `probabilities` [batch, length, n], of spans `start_logits` and `end_logits`
    [batch, length], of an encoder `sequence_output` [batch, length, H] and, where there is a pooler, `pooled_output` [batch,
    H]. `metadata` is kept in metadata_props. network: Bert for float32, int8.PaddedInt8Bert.
    """
    graph = Graph()
    shapes = _add_outputs(network(graph, tensors, config), head)
    model = assemble(graph, INPUTS, shapes)
    helper.set_model_props(model, metadata)
    onnx.checker.check_model(model)
    return model


def _add_outputs(bert: Bert, head: HeadSpec) -> dict[str, Sequence[str | int]]:
    """Adds the network and its outputs; returns the shape of each output."""
    graph, hidden = bert.graph, bert.config.hidden_size
    if head.kind == ENCODER:
        last = bert.states()[-1]
        graph.add("Identity", last, name="sequence_output")
        shapes: dict[str, Sequence[str | int]] = {"sequence_output": ["batch", "length", hidden]}
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
            index = graph.constant(f"place:{column}", np.array(column, np.int64))
            graph.add("Gather", logits, index, name=name, axis=2)
        return {name: ["batch", "length"] for name in _SPANS}
    if head.activation == "identity":
        graph.add("Squeeze", logits, graph.numbers(1), name="value")
        return {"value": ["batch"]}
    if head.activation == "sigmoid":
        graph.add("Sigmoid", logits, name="probabilities")
    else:
        graph.add("Softmax", logits, name="probabilities", axis=-1)
    return {"probabilities": ["batch", head.count]}


def largest_difference(path: str, inputs: dict[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> float:
    """The largest absolute difference between the outputs of an ONNX file and the original's."""
    return max(float(np.abs(values - expected[name]).max()) for name, values in make_runner(path)(inputs).items())
