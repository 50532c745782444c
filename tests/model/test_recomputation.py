"""Layers that are computed once more for the gradient: the very gradients, and nothing else kept until then."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from bert_cli.model.encoder import BertEncoder
from bert_cli.training.grappler import with_few_graph_optimizers

LENGTHS, WIDTH = [40, 7, 23, 40], 40
LAYERS = 3
SIZES = {
    "num_hidden_layers": LAYERS, "hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 2,
    "max_position_embeddings": WIDTH, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
    "gelu": "erf",  # in float32 its product, bias and activation are one operator, unless something reads what is between
}  # fmt: skip


def step_of(encoder: BertEncoder):
    """step(batch, x) -> (outputs, gradients of all weights); the gradient of the loss is tan(x)."""
    weights = [variable.value for variable in encoder.trainable_variables]

    @tf.function(autograph=False)
    def step(batch, x):
        with tf.GradientTape() as tape:
            outputs = encoder(batch, training=True, seed=tf.constant([3, 5]), packed=True)
            loss = tf.reduce_sum(outputs["sequence_output"] ** 2) + tf.reduce_sum(outputs["pooled_output"])
        gradients = tape.gradient(loss, weights, output_gradients=tf.tan(x))
        return [outputs["sequence_output"], *map(tf.convert_to_tensor, gradients)]

    return with_few_graph_optimizers(step)  # as steps of training are compiled


@pytest.fixture
def computed(tiny_config, batch_of):
    """computed(recomputes, …) -> arrays of one step of the same encoder."""

    def compute(recomputes: bool, dtype: str) -> list[np.ndarray]:
        encoder = BertEncoder(tiny_config(**SIZES), dtype, seed=7, recomputes=recomputes)
        return [np.asarray(each) for each in step_of(encoder)(batch_of(LENGTHS, WIDTH), tf.constant(0.7))]

    return compute


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", pytest.param("float16", marks=pytest.mark.slow)])
def test_gradients_to_the_bit(dtype, computed):
    wanted = computed(False, dtype)
    assert all(np.any(each != 0) for each in wanted)
    assert [each.tobytes() for each in computed(True, dtype)] == [each.tobytes() for each in wanted]


def test_what_is_kept_and_what_the_gradient_waits_for(tiny_config, batch_of):
    """GELU is computed in the forward pass of each layer, and again after the gradient of the loss in all but the last."""
    encoder = BertEncoder(tiny_config(**SIZES), seed=7, recomputes=True)
    step, batch = step_of(encoder), batch_of(LENGTHS, WIDTH)
    context.context().enable_graph_collection()
    step(batch, tf.constant(0.7))
    graphs = context.context().export_run_metadata().function_graphs
    context.context().disable_graph_collection()
    graph = max((each.post_optimization_graph for each in graphs), key=lambda graph: len(graph.node))
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
