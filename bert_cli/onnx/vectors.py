"""Pooling and the steps after it as nodes of an ONNX graph, on the states of bert.Bert."""

from collections.abc import Callable

import numpy as np

from bert_cli.base.pooling import CLS, LAST, MAX, MEAN_SQRT_LEN, POOLER, SMALLEST_TOTAL, WEIGHTED_MEAN, modes_of
from bert_cli.base.spec import INPUTS
from bert_cli.onnx.bert import Bert
from bert_cli.onnx.graph import BOOL, FLOAT, INT32, Graph
from bert_cli.onnx.heads import pooler_output
from bert_cli.sentence.steps import LAYER_NORM_EPS, SMALLEST_LENGTH, Dense, LayerNorm, Step, Truncate
from bert_cli.sentence.vectors import PoolingAndSteps

# Keys of sentence.steps.ACTIVATIONS -> functions from a graph and a value's name to the result's.
_ACTIVATIONS: dict[str, Callable[[Graph, str], str]] = {
    "Identity": lambda graph, x: x,
    "Tanh": lambda graph, x: graph.add("Tanh", x),
    "ReLU": lambda graph, x: graph.add("Relu", x),
    "Sigmoid": lambda graph, x: graph.add("Sigmoid", x),
    "GELU": lambda graph, x: graph.add("Gelu", x, approximate="none"),
    "SiLU": lambda graph, x: graph.add("Mul", x, graph.add("Sigmoid", x)),
}


def text_vector_nodes(bert: Bert, last: str, vectors: PoolingAndSteps) -> str:
    """Return one vector per text, [B, W].

    Args:
        bert: a network with padded texts.
        last: its last state, [B, S, H].
        vectors: the steps to add.
    """
    x = pooler_output(bert, last) if vectors.pooling == POOLER else _pool_tokens(bert.graph, last, vectors)
    for number, step in enumerate(vectors.steps):
        x = _add_step(bert.graph, x, step, f"sentence/{number}")
    return x


def _pool_tokens(graph: Graph, states: str, vectors: PoolingAndSteps) -> str:
    """Return the pooled states, [B, W]."""
    mask = graph.add("Cast", INPUTS[1], to=INT32)
    is_token = graph.add("Cast", mask, to=BOOL)
    token_numbers = graph.add("CumSum", mask, graph.constant("tokens", np.array(1, np.int32)))  # 1 for the first token
    lengths = graph.add("ReduceSum", mask, graph.numbers(1), keepdims=1)
    num_skipped = graph.constant("skipped", np.array(vectors.num_skipped, np.int32))
    is_used = graph.add("And", is_token, graph.add("Greater", token_numbers, num_skipped))
    pooled = []
    for mode in modes_of(vectors.pooling):
        if mode == MAX:
            chosen = graph.add("Unsqueeze", is_used, graph.numbers(2))
            used_states = graph.add("Where", chosen, states, graph.number(-np.inf))
            pooled.append(graph.add("ReduceMax", used_states, graph.numbers(1), keepdims=0))
            continue
        if mode == CLS:
            # If a prompt fills a whole text that was cut, its first token counts.
            skipped = graph.add(
                "Mul", num_skipped, graph.add("Cast", graph.add("Less", num_skipped, lengths), to=INT32)
            )
            first = graph.add("Add", skipped, graph.constant("first", np.array(1, np.int32)))
            chosen = graph.add("And", is_token, graph.add("Equal", token_numbers, first))
        else:
            chosen = graph.add("And", is_token, graph.add("Equal", token_numbers, lengths)) if mode == LAST else is_used
        weights = graph.add("Cast", chosen, to=FLOAT)
        if mode == WEIGHTED_MEAN:
            weights = graph.add("Mul", weights, graph.add("Cast", token_numbers, to=FLOAT))
        total = graph.add("ReduceSum", weights, graph.numbers(1), keepdims=1)
        total = graph.add("Max", total, graph.number(SMALLEST_TOTAL))
        total = graph.add("Sqrt", total) if mode == MEAN_SQRT_LEN else total
        weighted = graph.add("Mul", states, graph.add("Unsqueeze", weights, graph.numbers(2)))
        pooled.append(graph.add("Div", graph.add("ReduceSum", weighted, graph.numbers(1), keepdims=0), total))
    return graph.add("Concat", *pooled, axis=-1) if len(pooled) > 1 else pooled[0]


def _add_step(graph: Graph, x: str, step: Step, scope: str) -> str:
    """Return the values after a step, [B, W]."""
    if isinstance(step, Dense):
        return _add_dense(graph, x, step, scope)
    if isinstance(step, LayerNorm):
        gamma, beta = graph.constant(f"{scope}/gamma", step.gamma), graph.constant(f"{scope}/beta", step.beta)
        return graph.add("LayerNormalization", x, gamma, beta, axis=-1, epsilon=LAYER_NORM_EPS)
    if isinstance(step, Truncate):
        return graph.add("Slice", x, graph.numbers(0), graph.numbers(step.output_width), graph.numbers(-1))
    length = graph.add("ReduceL2", x, graph.numbers(-1), keepdims=1)
    return graph.add("Div", x, graph.add("Max", length, graph.number(SMALLEST_LENGTH)))


def _add_dense(graph: Graph, x: str, step: Dense, scope: str) -> str:
    outputs = graph.add("MatMul", x, graph.constant(f"{scope}/kernel", step.kernel))
    if step.bias is not None:
        outputs = graph.add("Add", outputs, graph.constant(f"{scope}/bias", step.bias))
    outputs = _ACTIVATIONS[step.activation](graph, outputs)
    if not step.has_residual:
        return outputs
    if step.residual_kernel is not None:
        x = graph.add("MatMul", x, graph.constant(f"{scope}/residual", step.residual_kernel))
    return graph.add("Add", outputs, x)
