"""Encoders with one config in one process share traces, but not weights."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.model.encoder import BertEncoder


@pytest.mark.parametrize("trainable", [True, False])
def test_encoders_with_one_config_share_traces_but_not_weights(trainable, tiny_config, batch_of):
    """Encoders use separate weights, also for untrainable layers, and traces do not keep deleted models in memory."""
    config, batch = tiny_config(), {name: tf.constant(values) for name, values in batch_of([3, 5], 5).items()}

    def outputs(encoder):
        encoder.trainable = trainable
        run = tf.function(lambda inputs: encoder(inputs, packed=True)["pooled_output"], autograph=False)
        return run(batch).numpy(), encoder(batch, packed=True)["pooled_output"].numpy()

    first = BertEncoder(config, seed=1)
    in_graph, at_once = outputs(first)
    other_in_graph, other_at_once = outputs(BertEncoder(config, seed=2))
    np.testing.assert_allclose(in_graph, at_once, atol=1e-6)
    np.testing.assert_allclose(other_in_graph, other_at_once, atol=1e-6)
    assert np.abs(in_graph - other_in_graph).max() > 0.01
    layer = weakref.ref(first.transformer_layers[0])
    del first
    gc.collect()
    assert layer() is None


def test_threads_train_encoders_with_one_config(tiny_config, batch_of):
    """Threads trace separately, because TensorFlow creates gradients inside a trace's graph."""
    config = tiny_config(num_hidden_layers=1)
    batch = {name: tf.constant(values) for name, values in batch_of([3, 5], 5).items()}

    def gradient(seed):
        encoder = BertEncoder(config, seed=seed)
        table = encoder.trainable_variables[0]

        @tf.function(autograph=False)
        def of_table():
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(encoder(batch, packed=True)["pooled_output"]))
            return tf.convert_to_tensor(tape.gradient(loss, table.value))

        return of_table().numpy()

    expected = gradient(1)
    with ThreadPoolExecutor(4) as pool:
        for actual in pool.map(gradient, [1] * 4):
            np.testing.assert_allclose(actual, expected, atol=1e-6)


def test_threads_trace_encoders_from_another_thread(tiny_config, batch_of):
    config = tiny_config(num_hidden_layers=1)
    batch = {name: tf.constant(values) for name, values in batch_of([3, 5], 5).items()}
    encoders = [BertEncoder(config, seed=1) for _ in range(4)]

    def output(encoder):
        run = tf.function(lambda inputs: encoder(inputs, packed=True)["pooled_output"], autograph=False)
        return run(batch).numpy()

    with ThreadPoolExecutor(4) as pool:
        first, *other_outputs = pool.map(output, encoders)
    for other_output in other_outputs:
        np.testing.assert_array_equal(first, other_output)
