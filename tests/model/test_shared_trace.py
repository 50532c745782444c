"""Encoders of one config in one process: what they share, and what not."""

import gc
import weakref

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
