"""Layers that are recomputed for the gradient: gradients are identical, and nothing else is kept in memory."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from bert_cli.model.encoder import BertEncoder
from bert_cli.training.grappler import with_few_graph_optimizers

LENGTHS, WIDTH = [40, 7, 23, 40], 40
LAYERS = 2
SIZES = {
    "num_hidden_layers": LAYERS, "hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 2,
    "max_position_embeddings": WIDTH, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
    "gelu": "erf",  # float32 fuses product, bias and activation unless another operator reads the intermediate result
}  # fmt: skip


def make_step(encoder: BertEncoder):
    """Return a step function that returns outputs and all gradients; the loss has the gradient tan(x)."""
    weights = [variable.value for variable in encoder.trainable_variables]

    @tf.function(autograph=False)
    def step(batch, x):
        with tf.GradientTape() as tape:
            outputs = encoder(batch, training=True, seed=tf.constant([3, 5]), packed=True)
            loss = tf.reduce_sum(outputs["sequence_output"] ** 2) + tf.reduce_sum(outputs["pooled_output"])
        gradients = tape.gradient(loss, weights, output_gradients=tf.tan(x))
        return [outputs["sequence_output"], *map(tf.convert_to_tensor, gradients)]

    return with_few_graph_optimizers(step)  # training steps are compiled in the same way


@pytest.fixture
def computed(tiny_config, batch_of):
    """Return a function that returns the arrays from one step, always with the same encoder."""

    def compute(recomputes: bool, dtype: str) -> list[np.ndarray]:
        encoder = BertEncoder(tiny_config(**SIZES), dtype, seed=7, recomputes=recomputes)
        return [np.asarray(value) for value in make_step(encoder)(batch_of(LENGTHS, WIDTH), tf.constant(0.7))]

    return compute


@pytest.mark.parametrize(
    "dtype", ["bfloat16", *(pytest.param(name, marks=pytest.mark.slow) for name in ("float32", "float16"))]
)
def test_gradients_are_identical(dtype, computed):
    expected = computed(False, dtype)
    assert all(np.any(values != 0) for values in expected)
    assert [values.tobytes() for values in computed(True, dtype)] == [values.tobytes() for values in expected]


def test_layers_are_recomputed_after_the_loss_gradient(tiny_config, batch_of):
    """GELU is computed in each layer's forward pass, and again in all layers but the last after the loss gradient."""
    encoder = BertEncoder(tiny_config(**SIZES), seed=7, recomputes=True)
    step, batch = make_step(encoder), batch_of(LENGTHS, WIDTH)
    context.context().enable_graph_collection()
    step(batch, tf.constant(0.7))
    graphs = context.context().export_run_metadata().function_graphs
    context.context().disable_graph_collection()
    graph = max((collected.post_optimization_graph for collected in graphs), key=lambda graph: len(graph.node))
    inputs = {node.name: [name.removeprefix("^").partition(":")[0] for name in node.input] for node in graph.node}
    (start,) = (node.name for node in graph.node if node.op == "Tan")

    def waits(name: str) -> bool:
        seen, ahead = set(), [name]
        while ahead:
            name = ahead.pop()
            if name not in seen:
                seen.add(name)
                ahead += inputs[name]
        return start in seen

    waiting = [waits(node.name) for node in graph.node if node.op == "Erf"]
    assert (waiting.count(False), waiting.count(True)) == (LAYERS, LAYERS - 1)
