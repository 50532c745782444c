"""Token rows as heads, and back."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.model.attention_heads import join_heads, split_heads
from bert_cli.model.layout import dense_layout, packed_layout

MASK = tf.constant([[1, 1, 1], [1, 0, 0]])


def test_dense_heads():
    layout = dense_layout(MASK)
    x = tf.reshape(tf.range(24.0), [6, 4])
    (heads,) = split_heads(x, 2, layout, layout.whole)
    # Sequence 1, head 0: the first two numbers of its three rows.
    assert heads.numpy()[1, 0].tolist() == [[12, 13], [16, 17], [20, 21]]
    assert heads.numpy()[0, 1].tolist() == [[2, 3], [6, 7], [10, 11]]
    np.testing.assert_array_equal(join_heads([heads], 2, layout, layout.whole), x)


@pytest.mark.parametrize("bucketed", [False, True])
def test_packed_heads_have_only_real_rows(bucketed):
    layout = packed_layout(MASK, heads=2, is_trained=True, bucketed=bucketed)
    head_rows = layout.bucketed if bucketed else layout.whole
    count = layout.slots.shape[0]
    x = tf.reshape(tf.range(4.0 * count), [count, 4])
    buckets = split_heads(x, 2, layout, head_rows)
    assert len(buckets) == (2 if bucketed else 1)
    # Row 3 is the only token of sequence 1.
    assert buckets[-1].numpy()[-1, 1, 0].tolist() == [14, 15]
    np.testing.assert_array_equal(join_heads(buckets, 2, layout, head_rows)[:4], x[:4])


def test_padded_slots_have_no_gradient():
    layout = packed_layout(MASK, heads=2, is_trained=True)
    count = layout.slots.shape[0]
    x = tf.ones([count, 4])
    with tf.GradientTape() as tape:
        tape.watch(x)
        (heads,) = split_heads(x, 2, layout, layout.whole)
        total = tf.reduce_sum(heads)  # padded slots, which copy row 0, included
    assert tape.gradient(total, x).numpy()[:4].tolist() == [[1, 1, 1, 1]] * 4
