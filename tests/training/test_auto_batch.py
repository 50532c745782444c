"""A batch that does not fit into memory is divided, starting from the state before the failed step."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.training.auto_batch import AutoBatch
from tests.snapshots import check_message


def make_auto_batch(fits: int, rows: int, accumulation_steps: int = 1, recomputed_fits: int | None = None):
    """Return an AutoBatch with a failing step, the variable that the step changes, and a list of attempts.

    The step fails with fewer than `fits` accumulation steps, or than `recomputed_fits` with
    recomputed activations. The attempts are numbers of accumulation steps, and "recompute". Without
    `recomputed_fits`, recomputation is impossible.
    """
    variable, tried = tf.Variable(1.0), []

    def make_step(accumulation_steps: int):
        def step(batch):
            tried.append(accumulation_steps)
            variable.assign_add(1.0)
            if accumulation_steps < (recomputed_fits if "recompute" in tried else fits):
                raise tf.errors.ResourceExhaustedError(None, None, "no memory")
            return tf.constant(0.5), tf.constant(0.1)

        return step

    def recompute():
        if recomputed_fits is None or "recompute" in tried:
            return False
        tried.append("recompute")
        return True

    return AutoBatch(make_step, accumulation_steps, rows, lambda: [variable], recompute), variable, tried


def test_accumulation_steps_double_until_they_fit(caplog):
    step, variable, tried = make_auto_batch(fits=4, rows=8)
    for _ in range(2):
        loss, _ = step({})
    assert (float(loss), tried) == (0.5, [1, 2, 4, 4])
    assert variable.numpy() == np.float32(3.0)  # failed steps changed nothing
    assert [record.args[0] for record in caplog.records] == [2, 4]


def test_rows_that_cannot_be_divided_further():
    step, _, tried = make_auto_batch(fits=8, rows=6)
    with pytest.raises(tf.errors.ResourceExhaustedError):
        step({})
    assert tried == [1, 2]


def test_rows_that_cannot_be_divided_further_are_recomputed(caplog):
    step, variable, tried = make_auto_batch(fits=8, rows=6, recomputed_fits=2)
    for _ in range(2):
        step({})
    assert tried == [1, 2, "recompute", 2, 2]
    assert variable.numpy() == np.float32(3.0)
    check_message(caplog.messages[-1], "--recompute=layers")


def test_recomputation_that_does_not_help():
    step, _, tried = make_auto_batch(fits=8, rows=6, recomputed_fits=8)
    with pytest.raises(tf.errors.ResourceExhaustedError):
        step({})
    assert tried == [1, 2, "recompute", 2]
