"""Variables through their handles: values, memory without a copy."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.tf_internals import variables


def test_read_assign_and_add_inside_a_function():
    number, count = tf.Variable(2.0), tf.Variable(5, dtype=tf.int64)

    @tf.function
    def change():
        variables.assign(number.handle, variables.read(number.handle) * 3.0)
        variables.add(count.handle, tf.constant(2, tf.int64))
        return variables.read(count.handle, tf.int64)

    assert int(change()) == 7
    assert float(number) == 6.0


def test_memory_of_shares_memory_and_keeps_its_values():
    variable = tf.Variable(np.arange(1000, dtype=np.float32))
    taken, again = variables.memory_of(variable), variables.memory_of(variable)
    assert np.shares_memory(taken, again)  # no copy
    variables.assign(variable.handle, tf.zeros([1000]))
    np.testing.assert_array_equal(taken, np.arange(1000))
    with pytest.raises(ValueError, match="read-only"):
        taken[0] = 1.0
