"""Encoders of one config in one process: what they share, and what not."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.model.encoder import BertEncoder


@pytest.mark.parametrize("trainable", [True, False])
def test_encoders_of_one_config_share_traces_but_no_weights(trainable, tiny_config, batch_of):
    """Each computes with its own weights, even if a layer is not trainable. Traces keep no layer of a deleted model."""
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


def test_threads_train_encoders_of_one_config(tiny_config, batch_of):
    """Each thread traces by itself: TensorFlow makes gradients inside a trace's graph."""
    config, batch = tiny_config(), {name: tf.constant(values) for name, values in batch_of([3, 5], 5).items()}

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
        for found in pool.map(gradient, [1] * 4):
            np.testing.assert_allclose(found, expected, atol=1e-6)


def test_threads_trace_encoders_that_one_thread_made(tiny_config, batch_of):
    config, batch = tiny_config(), {name: tf.constant(values) for name, values in batch_of([3, 5], 5).items()}
    encoders = [BertEncoder(config, seed=1) for _ in range(4)]

    def output(encoder):
        run = tf.function(lambda inputs: encoder(inputs, packed=True)["pooled_output"], autograph=False)
        return run(batch).numpy()

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(output, encoders)
    for other in others:
        np.testing.assert_array_equal(first, other)
