"""Builder of ONNX files for export, which read padded token ids.

Inputs and outputs have Google's names, or the names of Hugging Face's exporter, Optimum.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper

from bert_cli.base.head_types import CLASSIFIER, ENCODER, HeadSpec
from bert_cli.base.spec import INPUTS
from bert_cli.model.config import BertConfig
from bert_cli.onnx import heads
from bert_cli.onnx.bert import PADDED, Bert, GraphForm
from bert_cli.onnx.graph import TEXTS, Graph, assemble
from bert_cli.onnx.vectors import text_vector_nodes
from bert_cli.sentence.vectors import SENTENCE_EMBEDDING, PoolingAndSteps

# In the order of spec.INPUTS.
HUGGING_FACE_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
# By is_hugging_face: the last layer's output, and the pooler's.
ENCODER_OUTPUTS = {False: ("sequence_output", "pooled_output"), True: ("last_hidden_state", "pooler_output")}


class NetworkSource(NamedTuple):
    """A network for a graph.

    Attributes:
        tensors: Google's name -> float32, for encoder and head.
        config: its configuration.
        head: its head.
        order: columns with the labels of an ensemble; () for the head's own.
    """

    tensors: Mapping[str, np.ndarray]
    config: BertConfig
    head: HeadSpec
    order: Sequence[int] = ()


def build_exported_graph(
    networks: Sequence[NetworkSource],
    metadata: dict[str, str],
    form: GraphForm = PADDED,
    is_hugging_face: bool = False,
    vectors: PoolingAndSteps | None = None,
) -> onnx.ModelProto:
    """Return an ONNX model with inputs from spec.INPUTS, int32 [batch, length] of any size.

    If `is_hugging_face`, the inputs are HUGGING_FACE_INPUTS, int64; if the network has no token types,
    the first two of them. The float32 outputs depend on the head:

    | head       | Google's names                              | Hugging Face's names |
    |------------|---------------------------------------------|----------------------|
    | classifier | `probabilities` [batch, n]                  | `logits`             |
    | regression | `value` [batch]                             | `logits` [batch, 1]  |
    | tagger     | `probabilities` [batch, length, n]          | `logits`             |
    | spans      | `start_logits`, `end_logits` [batch, length] | the same            |
    | encoder    | `sequence_output` [batch, length, H]        | `last_hidden_state`  |
    | its pooler | `pooled_output` [batch, H]                  | `pooler_output`      |
    | `vectors`  | `sentence_embedding` [batch, W]             | the same             |

    If a classifier is calibrated, its logits are divided by its temperatures, so that softmax or
    sigmoid return the calibrated probabilities. The outputs of several classifiers are their mean.

    Args:
        networks: the network, or the classifiers of an ensemble.
        metadata: entries for metadata_props.
        form: bert.PADDED for float32, or int8.PADDED_INT8.
        is_hugging_face: whether inputs and outputs have Hugging Face's names.
        vectors: how an encoder's outputs become one vector per text; None for no such output.
    """
    graphs = [_make_graph(network, form, is_hugging_face, vectors) for network in networks]
    graph = graphs[0] if len(graphs) == 1 else _average(graphs, [network.order for network in networks])
    model = onnx.ModelProto.FromString(assemble(graph))
    helper.set_model_props(model, metadata)
    # Check the model here, not when a program loads it: this finds wrong shapes and names.
    onnx.checker.check_model(model)
    return model


def _make_graph(
    network: NetworkSource, form: GraphForm, is_hugging_face: bool, vectors: PoolingAndSteps | None
) -> Graph:
    tensors, config, head, _ = network
    graph = Graph()
    if is_hugging_face:
        count = 3 if config.type_vocab_size else 2
        for name, google_name in zip(HUGGING_FACE_INPUTS[:count], INPUTS[:count], strict=True):
            graph.add("Identity", graph.input(name, TEXTS, TensorProto.INT64), name=google_name)
    else:
        for name in INPUTS:
            graph.input(name, TEXTS, TensorProto.INT32)
    _add_outputs(Bert(graph, tensors, config, form), head, is_hugging_face, vectors)
    return graph


def _average(members: Sequence[Graph], orders: Sequence[Sequence[int]]) -> Graph:
    """Return a graph with the mean of the output of graphs with the same inputs."""
    graph = Graph()
    graph.inputs = members[0].inputs
    arrays = []
    for number, (member, order) in enumerate(zip(members, orders, strict=True)):
        (output,) = graph.include(member, f"member_{number}/")
        columns = graph.numbers(*order) if order else ""
        arrays.append(graph.add("Gather", output, columns, axis=-1) if columns else output)
    (value,) = members[0].outputs
    graph.output(value.name, value.shape, "Mean", *arrays)
    return graph


def hugging_face_inputs(batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return a batch of spec.INPUTS under Hugging Face's names, int64."""
    return {name: batch[own].astype(np.int64) for name, own in zip(HUGGING_FACE_INPUTS, INPUTS, strict=True)}


def _add_outputs(bert: Bert, head: HeadSpec, is_hugging_face: bool, vectors: PoolingAndSteps | None) -> None:
    """Add the network and its outputs."""
    graph = bert.graph
    hidden = bert.config.hidden_size
    if head.head_type == ENCODER:
        last = bert.states()[-1]
        states, pooled = ENCODER_OUTPUTS[is_hugging_face]
        graph.output(states, (*TEXTS, hidden), "Identity", last)
        if "bert/pooler/dense/kernel" in bert.tensors:
            graph.output(pooled, ("batch", hidden), "Identity", heads.pooler_output(bert, last))
        if vectors:
            embedding = text_vector_nodes(bert, last, vectors)
            graph.output(SENTENCE_EMBEDDING, ("batch", vectors.width(hidden)), "Identity", embedding)
        return
    logits = heads.logits(bert, head)
    if not head.has_labels:
        for column, name in enumerate(("start_logits", "end_logits")):
            # Use a scalar index, which drops the axis; a list would keep it.
            index = graph.constant(f"place:{column}", np.array(column, np.int64))
            graph.output(name, TEXTS, "Gather", logits, index, axis=2)
        return
    if head.temperatures:
        logits = graph.add("Div", logits, graph.constant("temperatures", np.array(head.temperatures, np.float32)))
    shape = ("batch", head.num_outputs) if head.head_type == CLASSIFIER else (*TEXTS, head.num_outputs)
    if is_hugging_face:
        graph.output("logits", shape, "Identity", logits)
    elif head.head_type == CLASSIFIER and head.activation == "identity":
        graph.output("value", ["batch"], "Squeeze", logits, graph.numbers(1))
    elif head.head_type == CLASSIFIER and head.activation == "sigmoid":
        graph.output("probabilities", shape, "Sigmoid", logits)
    else:
        graph.output("probabilities", shape, "Softmax", logits, axis=-1)
