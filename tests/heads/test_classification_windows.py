"""Mean logits over a text's windows, compared with the classifier on single windows and with NumPy."""

import numpy as np
import pytest

from bert_cli.runtime.tensorflow_setup import setup_tensorflow

setup_tensorflow()
import tensorflow as tf  # noqa: E402

from bert_cli.base.spec import INPUTS  # noqa: E402
from bert_cli.heads.classification import (  # noqa: E402
    BertTextClassifier,
    BertWindowsClassifier,
    mean_of_windows,
)
from bert_cli.model.layers import named_weights  # noqa: E402


def test_mean():
    logits = tf.constant([[[1.0, 2.0], [3.0, 6.0]], [[5.0, 7.0], [9.0, 9.0]]])
    assert mean_of_windows(logits, tf.constant([[1, 1], [1, 0]])).numpy().tolist() == [[2.0, 4.0], [5.0, 7.0]]


@pytest.mark.parametrize("packed", [True, False])
def test_text_logits_are_the_mean_of_its_windows(tiny_config, batch_of, packed):
    single, windows = BertTextClassifier(tiny_config(), 3, seed=1), BertWindowsClassifier(tiny_config(), 3, seed=2)
    single.head_dropout = windows.head_dropout = 0.0
    for name, variable in named_weights(windows).items():
        variable.assign(named_weights(single)[name])
    inputs = batch_of([7, 5, 3, 0], 7)  # two windows of the first text, one of the second
    labels = np.array([2, 0], np.int32)
    logits = single({name: values[:3] for name, values in inputs.items()}).numpy()
    means = np.stack([logits[:2].mean(axis=0), logits[2]])
    losses = np.log(np.exp(means).sum(axis=1)) - means[[0, 1], labels]
    batch = {name: values.reshape(2, 2, 7) for name, values in inputs.items()} | {"label_ids": labels}
    np.testing.assert_allclose(windows({name: batch[name] for name in INPUTS}, packed=packed), means, atol=1e-5)
    terms, weights = windows.loss_terms(batch, tf.constant([1, 2]), packed, batch_size=2)
    np.testing.assert_allclose(terms, losses, atol=1e-5)
    assert weights.numpy().tolist() == [0.5, 0.5]
