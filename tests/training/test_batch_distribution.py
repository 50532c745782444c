"""Where a share of a batch begins, for dropout that does not depend on the number of shares."""

import pytest
import tensorflow as tf

from bert_cli.training import batch_distribution


@pytest.mark.parametrize(("on_tpu", "start"), [(False, [3, 6, 1, 1]), (True, [4, 6, 0, 0])])
def test_places_without_a_window_count_where_they_are_computed(monkeypatch, on_tpu, start):
    """Two texts before it, with places for two windows each, of which the second has one; of all six, four are of width 1."""
    monkeypatch.setattr(batch_distribution, "is_tpu", lambda strategy: on_tpu)
    mask = tf.constant([[[1, 1, 1], [1, 1, 0]], [[1, 0, 0], [0, 0, 0]], [[1, 0, 0], [1, 0, 0]], [[1, 0, 0], [0, 0, 0]]])
    assert batch_distribution.shard_start(mask, 2, tf.distribute.get_strategy()).numpy().tolist() == start


def test_what_goes_apart_is_decided_once_for_all_shares():
    mask = tf.constant([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]])
    found = batch_distribution.shard_start(mask, 3, tf.distribute.get_strategy(), tf.constant(2))
    assert found.numpy().tolist() == [3, 6, 2, 2]
