"""Logits per token."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.heads.tagging import BertTagger
from tests.configs import WITHOUT_DROPOUT, small_config

CONFIG = small_config(num_hidden_layers=2, **WITHOUT_DROPOUT)


@pytest.mark.parametrize(("layers", "top", "width"), [((-1,), 1, 8), (("embedding", 0), 0, 16), ((-2, -1), 1, 16)])
def test_layers_decide_about_the_width(layers, top, width):
    model = BertTagger(CONFIG, 3, layers)
    assert (model.top_layer, model.state_width) == (top, width)


def test_states_are_concatenated_in_the_order_of_the_flag(batch_of):
    model = BertTagger(CONFIG, 3, (-1, "embedding"))
    inputs = batch_of([4, 2], 4, vocab_size=30)
    outputs = model.encoder(inputs)
    np.testing.assert_array_equal(model.states(inputs)[..., :8], outputs["encoder_outputs"][-1])
    np.testing.assert_array_equal(model.states(inputs)[..., 8:], outputs["embedding_output"])


@pytest.mark.parametrize("packed", [True, False])
def test_pieces_without_label_have_no_loss(packed):
    model = BertTagger(CONFIG, 2)
    model.head.output_weights.assign(np.eye(2, 8))
    states = np.zeros((1, 3, 8), np.float32)
    states[0, 1, 0] = np.log(3)  # probabilities 3/4 and 1/4
    batch = {
        "states": tf.constant(states),
        "label_ids": tf.constant([[-1, 0, 1]]),
        "label_weights": tf.constant([[0.0, 0.5, 0.5]]),
    }
    losses, weights = model.loss_terms(batch, None, packed, 1)
    assert len(losses) == (2 if packed else 3)
    assert float(tf.reduce_sum(losses * weights)) == pytest.approx((np.log(4 / 3) + np.log(2)) / 2)
