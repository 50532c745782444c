"""Heads as nodes of an ONNX graph, on the states of bert.Bert."""

import numpy as np

from bert_cli.base.head_types import FIRST, MEAN, POOLED, HeadSpec, state_index
from bert_cli.base.spec import INPUTS
from bert_cli.onnx.bert import ROWS, WORDS, Bert
from bert_cli.onnx.graph import FLOAT, activation_nodes


def first(bert: Bert, x: str) -> str:
    """Return each text's first row of a state, [B, H]."""
    graph = bert.graph
    zero = graph.constant("zero", np.array(0, np.int64))
    if bert.form.is_flat:
        return graph.add("Gather", x, graph.add("Gather", ROWS, zero, axis=1), axis=0)
    return graph.add("Gather", x, zero, axis=1)


def pooler_output(bert: Bert, x: str) -> str:
    """Return the pooler's output for the last state, [B, H]."""
    dense = bert.dense(first(bert, x), "bert/pooler/dense")
    return activation_nodes(bert.graph, dense, bert.config.network.pooler_activation)


def mean(bert: Bert, x: str) -> str:
    """Return the mean of a state over tokens without padding, [B, H]."""
    graph = bert.graph
    x = bert.pad(x)
    # Exclude padding from the sum and from the number.
    real = graph.add("Unsqueeze", graph.add("Cast", INPUTS[1], to=FLOAT), graph.numbers(2))
    total = graph.add("ReduceSum", graph.add("Mul", x, real), graph.numbers(1), keepdims=0)
    return graph.add("Div", total, graph.add("ReduceSum", real, graph.numbers(1), keepdims=0))


# A text head's input from the last state, [B, H].
TEXT_ROWS = {POOLED: pooler_output, FIRST: first, MEAN: mean}


def masked_words(bert: Bert, x: str, mask_positions: str) -> str:
    """Return the masked-LM head's logits, [M, V].

    Args:
        bert: the network.
        x: the last state, [B, S, H].
        mask_positions: rows and positions of masked tokens, int64 [M, 2].
    """
    graph = bert.graph
    scope = "cls/predictions"
    rows = bert.dense(graph.add("GatherND", x, mask_positions), f"{scope}/transform/dense")
    rows = bert.norm(activation_nodes(graph, rows, bert.config.masked_lm_activation), f"{scope}/transform/LayerNorm")
    # Gemm with transB uses the tied word embeddings without a transposed copy.
    return graph.add("Gemm", rows, bert.weight(WORDS), bert.weight(f"{scope}/output_bias"), transB=1)


def next_sentence(bert: Bert, x: str) -> str:
    """Return the next-sentence head's logits [B, 2]; column 0 is "B follows A"."""
    scope = "cls/seq_relationship"
    weights = bert.weight(f"{scope}/output_weights")
    return bert.graph.add("Gemm", pooler_output(bert, x), weights, bert.weight(f"{scope}/output_bias"), transB=1)


def logits(bert: Bert, head: HeadSpec) -> str:
    """Add encoder and head, and return x Wᵀ + b: [B, n] for texts or [B, S, n] for tokens."""
    graph = bert.graph
    states = bert.states()
    if head.is_text_classifier:
        x = TEXT_ROWS[head.text_input](bert, states[-1])
    else:
        chosen = [states[state_index(layer, bert.config.num_hidden_layers)] for layer in head.layers]
        x = graph.add("Concat", *chosen, axis=-1) if len(chosen) > 1 else chosen[0]
    name = f"{head.scope}output_weights"  # stored as [n, W]
    # Transpose here: onnxruntime fuses and quantizes MatMul with a constant, but not with a
    # Transpose before it.
    kernel = graph.constant(f"{name}:transposed", np.ascontiguousarray(bert.tensors[name].T))
    return graph.add("Add", graph.add("MatMul", x, kernel), bert.weight(f"{head.scope}output_bias"))
