"""Logits for starts and ends, and padding in their loss."""

import math

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.heads.squad import BertSpanModel, SpanHead
from tests.configs import WITHOUT_DROPOUT, small_config

CONFIG = small_config(**WITHOUT_DROPOUT)


def test_starts_and_ends_have_separate_weights():
    head = SpanHead(2, seed=0)
    head.output_weights.assign([[1, 0], [0, 2]])
    head.output_bias.assign([10, 20])
    starts, ends = head(tf.constant([[[1.0, 2.0], [3.0, 4.0]]]))
    assert starts.numpy().tolist() == [[11, 13]]
    assert ends.numpy().tolist() == [[24, 28]]


def test_padding_counts_in_the_loss_unless_it_is_skipped(batch_of):
    inputs = {name: tf.constant(values) for name, values in batch_of([4, 2], 4, vocab_size=30).items()}
    batch = inputs | {"start_positions": tf.constant([0, 1]), "end_positions": tf.constant([3, 1])}
    losses = []
    for skips in (True, False):
        model = BertSpanModel(CONFIG, skip_padding=skips, seed=1)
        model.head.output_weights.assign(np.zeros((2, 8)))
        losses.append(model.loss_terms(batch, None, False, 2)[0].numpy().tolist())
    # With equal logits, each of n positions has the probability 1/n.
    assert losses[0] == pytest.approx([math.log(4), math.log(2)])
    assert losses[1] == pytest.approx([math.log(4), math.log(4)])
