"""A batch that does not fit into memory is divided, from what was before the step that failed."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.training.auto_batch import AutoBatch


def trying(fits: int, rows: int, parts: int = 1):
    """An AutoBatch whose step changes a variable, then fails in fewer than `fits` parts; the variable; the parts tried."""
    variable, tried = tf.Variable(1.0), []

    def make_step(parts: int):
        def step(batch):
            tried.append(parts)
            variable.assign_add(1.0)
            if parts < fits:
                raise tf.errors.ResourceExhaustedError(None, None, "no memory")
            return tf.constant(0.5), tf.constant(0.1)

        return step

    return AutoBatch(make_step, parts, rows, lambda: [variable]), variable, tried


def test_parts_double_until_they_fit(caplog):
    step, variable, tried = trying(fits=4, rows=8)
    for _ in range(2):
        loss, _ = step({})
    assert (float(loss), tried) == (0.5, [1, 2, 4, 4])
    assert variable.numpy() == np.float32(3.0)  # what failed has left nothing
    assert [record.args[0] for record in caplog.records] == [2, 4]


def test_rows_that_cannot_be_divided_further():
    step, _, tried = trying(fits=8, rows=6)
    with pytest.raises(tf.errors.ResourceExhaustedError):
        step({})
    assert tried == [1, 2]
