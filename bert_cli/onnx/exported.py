"""Builder of ONNX files for export, which read padded token ids."""

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper

from bert_cli.base.head_types import CLASSIFIER, ENCODER, TAGGER, HeadSpec
from bert_cli.base.spec import INPUTS
from bert_cli.model.config import BertConfig
from bert_cli.onnx.bert import Bert
from bert_cli.onnx.graph import TEXTS, Graph, assemble


def build(
    tensors: Mapping[str, np.ndarray],
    config: BertConfig,
    head: HeadSpec,
    metadata: dict[str, str],
    network: type[Bert] = Bert,
) -> onnx.ModelProto:
    """Return an ONNX model with inputs from spec.INPUTS, int32 [batch, length] of any size.

    The float32 outputs depend on the head:

    classifier: `probabilities` [batch, n], or `value` [batch] for a regression
    tagger:     `probabilities` [batch, length, n]
    spans:      `start_logits` and `end_logits` [batch, length]
    encoder:    `sequence_output` [batch, length, H], and `pooled_output` [batch, H] if there is a pooler

    Args:
        tensors: Google's name -> float32, for encoder and head.
        config: the model's configuration.
        head: the head.
        metadata: entries for metadata_props.
        network: Bert for float32, or int8.PaddedInt8Bert.
    """
    graph = Graph()
    for name in INPUTS:
        graph.input(name, TEXTS, TensorProto.INT32)
    _add_outputs(network(graph, tensors, config), head)
    model = assemble(graph)
    helper.set_model_props(model, metadata)
    # Check the model here, not when a program loads it: this finds wrong shapes and names.
    onnx.checker.check_model(model)
    return model


def _add_outputs(bert: Bert, head: HeadSpec) -> None:
    """Add the network and its outputs."""
    graph = bert.graph
    hidden = bert.config.hidden_size
    if head.head_type == ENCODER:
        last = bert.states()[-1]
        graph.output("sequence_output", (*TEXTS, hidden), "Identity", last)
        if "bert/pooler/dense/kernel" in bert.tensors:
            graph.output("pooled_output", ("batch", hidden), "Identity", bert.pooled(last))
        return
    logits = bert.logits(head)
    if head.head_type == TAGGER:
        graph.output("probabilities", (*TEXTS, head.num_outputs), "Softmax", logits, axis=-1)
    elif head.head_type != CLASSIFIER:
        for column, name in enumerate(("start_logits", "end_logits")):
            # Use a scalar index, which drops the axis; a list would keep it.
            index = graph.constant(f"place:{column}", np.array(column, np.int64))
            graph.output(name, TEXTS, "Gather", logits, index, axis=2)
    elif head.activation == "identity":
        graph.output("value", ["batch"], "Squeeze", logits, graph.numbers(1))
    else:
        if head.temperatures:
            logits = graph.add("Div", logits, graph.constant("temperatures", np.array(head.temperatures, np.float32)))
        if head.activation == "sigmoid":
            graph.output("probabilities", ("batch", head.num_outputs), "Sigmoid", logits)
        else:
            graph.output("probabilities", ("batch", head.num_outputs), "Softmax", logits, axis=-1)
