"""A batch that does not fit into memory is divided, from what was before the step that failed."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.training.auto_batch import AutoBatch


def trying(fits: int, rows: int, parts: int = 1, recomputed_fits: int | None = None):
    """An AutoBatch whose step changes a variable, then fails in fewer than `fits` parts; the variable; the parts tried.

    recomputed_fits: the same where activations are recomputed, which is noted as "recompute"; None where they cannot be.
    """
    variable, tried = tf.Variable(1.0), []

    def make_step(parts: int):
        def step(batch):
            tried.append(parts)
            variable.assign_add(1.0)
            if parts < (recomputed_fits if "recompute" in tried else fits):
                raise tf.errors.ResourceExhaustedError(None, None, "no memory")
            return tf.constant(0.5), tf.constant(0.1)

        return step

    def recompute():
        if recomputed_fits is None or "recompute" in tried:
            return False
        tried.append("recompute")
        return True

    return AutoBatch(make_step, parts, rows, lambda: [variable], recompute), variable, tried


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


def test_rows_that_cannot_be_divided_further_are_recomputed(caplog):
    step, variable, tried = trying(fits=8, rows=6, recomputed_fits=2)
    for _ in range(2):
        step({})
    assert tried == [1, 2, "recompute", 2, 2]
    assert variable.numpy() == np.float32(3.0)
    assert caplog.messages[-1] == ("out of memory: activations are recomputed from now on, as with --recompute=layers")


def test_recomputation_that_does_not_help():
    step, _, tried = trying(fits=8, rows=6, recomputed_fits=8)
    with pytest.raises(tf.errors.ResourceExhaustedError):
        step({})
    assert tried == [1, 2, "recompute", 2]
