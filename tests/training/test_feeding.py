"""Where a share of a batch begins, for dropout that does not depend on the number of shares."""

import pytest
import tensorflow as tf

from bert_cli.training import feeding


@pytest.mark.parametrize(("on_tpu", "sequences"), [(False, 3), (True, 4)])
def test_places_without_a_window_count_where_they_are_computed(monkeypatch, on_tpu, sequences):
    """Two texts with places for two windows each, of which the second has one."""
    monkeypatch.setattr(feeding, "is_tpu", lambda strategy: on_tpu)
    mask = tf.constant([[[1, 1, 1], [1, 1, 0]], [[1, 0, 0], [0, 0, 0]]])
    strategy = tf.distribute.get_strategy()
    assert feeding.share_start(mask, strategy).numpy().tolist() == [sequences, 6]
