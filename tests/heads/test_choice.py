"""Logits per choice."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.heads.choice import BertChoice
from bert_cli.heads.classification import BertTextClassifier
from bert_cli.model.layers import named_weights
from tests.configs import WITHOUT_DROPOUT, small_config


@pytest.fixture(scope="module")
def model() -> BertChoice:
    return BertChoice(small_config(**WITHOUT_DROPOUT), 1, "multiple_choice", seed=1)


def test_states_become_one_logit_per_choice(model):
    model.head.output_weights.assign(np.full((1, 8), 2.0))
    model.head.output_bias.assign([1.0])
    states = np.zeros((2, 3, 8), np.float32)
    states[0, 1, 0], states[1, 2] = 5, 1
    assert model.head_logits(tf.constant(states)).numpy().tolist() == [[1, 11, 1], [1, 1, 17]]


def test_choices_are_computed_like_texts(model, batch_of):
    texts = batch_of([5, 3, 4, 2], 6, vocab_size=30)
    classifier = BertTextClassifier(small_config(**WITHOUT_DROPOUT), 1, "regression", seed=2)
    for name, weight in named_weights(classifier).items():
        weight.assign(named_weights(model)[name])
    choices = {name: values.reshape(2, 2, 6) for name, values in texts.items()}
    np.testing.assert_allclose(tf.reshape(model(choices), [4, 1]), classifier(texts), atol=1e-6)
