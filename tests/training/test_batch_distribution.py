"""First rows of batch shards, which make dropout independent of the number of shards."""

import pytest
import tensorflow as tf

from bert_cli.training import batch_distribution


@pytest.mark.parametrize(("on_tpu", "start"), [(False, [3, 6, 1, 1]), (True, [4, 6, 0, 0])])
def test_empty_windows_count_if_they_are_computed(monkeypatch, on_tpu, start):
    """Two texts come first, with two windows and one window, and space for two each; four of six windows have width 1."""
    monkeypatch.setattr(batch_distribution, "is_tpu", lambda strategy: on_tpu)
    mask = tf.constant([[[1, 1, 1], [1, 1, 0]], [[1, 0, 0], [0, 0, 0]], [[1, 0, 0], [1, 0, 0]], [[1, 0, 0], [0, 0, 0]]])
    assert batch_distribution.shard_start(mask, 2, tf.distribute.get_strategy()).numpy().tolist() == start


def test_short_width_is_the_same_for_all_shards():
    mask = tf.constant([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]])
    actual = batch_distribution.shard_start(mask, 3, tf.distribute.get_strategy(), tf.constant(2))
    assert actual.numpy().tolist() == [3, 6, 2, 2]
