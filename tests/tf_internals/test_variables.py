"""Variables accessed by handle: values, Adam's formula and memory without copies."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.tf_internals import variables


def test_read_assign_and_add_in_a_tf_function():
    number, count = tf.Variable(2.0), tf.Variable(5, dtype=tf.int64)

    @tf.function
    def change():
        variables.assign(number.handle, variables.read(number.handle) * 3.0)
        variables.add(count.handle, tf.constant(2, tf.int64))
        return variables.read(count.handle, tf.int64)

    assert int(change()) == 7
    assert float(number) == 6.0


@pytest.mark.parametrize("is_corrected", [False, True])
def test_apply_adam_follows_the_paper(is_corrected):
    weight, first, second = (tf.Variable([value]) for value in (1.0, 0.2, 0.3))
    handles = [variable.handle for variable in (weight, first, second)]
    powers = (0.5**2, 0.75**2) if is_corrected else (0.0, 0.0)
    variables.apply_adam(*handles, tf.constant([2.0]), tf.constant(0.1), (0.5, 0.75), powers, 0.01)
    m, v = 0.5 * 0.2 + 0.5 * 2.0, 0.75 * 0.3 + 0.25 * 4.0
    step = 0.1 * np.sqrt(1.0 - powers[1]) / (1.0 - powers[0]) * m / (np.sqrt(v) + 0.01)
    np.testing.assert_allclose(
        [float(variable[0]) for variable in (weight, first, second)], [1.0 - step, m, v], rtol=1e-6
    )


def test_memory_of_is_a_read_only_snapshot_without_copy():
    variable = tf.Variable(np.arange(1000, dtype=np.float32))
    values, same_values = variables.memory_of(variable), variables.memory_of(variable)
    assert np.shares_memory(values, same_values)
    variables.assign(variable.handle, tf.zeros([1000]))
    np.testing.assert_array_equal(values, np.arange(1000))
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 1.0


def test_new_tensor_shares_its_memory_with_the_array():
    tensor, values = variables.new_tensor([3, 2])
    values[:] = [[1, 2], [3, 4], [5, 6]]
    np.testing.assert_array_equal(tensor, [[1, 2], [3, 4], [5, 6]])
    assert tensor.dtype == tf.float32


def test_a_variable_takes_over_a_new_tensor():
    variable = tf.Variable(tf.zeros([1000]))
    tensor, values = variables.new_tensor([1000])
    values[:] = 2.0
    variable.assign(tensor)
    assert np.shares_memory(values, variables.memory_of(variable))
