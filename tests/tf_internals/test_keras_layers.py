"""Building, inner layers and variables of Keras layers."""

import keras
import pytest
import tensorflow as tf

from bert_cli.tf_internals.keras_layers import layers_inside, mark_built, own_variables


class Inner(keras.layers.Layer):
    def __init__(self, is_marked=True):
        super().__init__()
        if is_marked:
            mark_built(self)
        self.factor = self.add_weight(name="factor", shape=(), initializer="ones")

    def call(self, x):
        return x * self.factor.value


class Outer(keras.layers.Layer):
    def __init__(self, inner_is_marked=True):
        super().__init__()
        self.num_calls = 0
        self.first, self.rest = Inner(inner_is_marked), [Inner(inner_is_marked)]
        self.bias = self.add_weight(name="bias", shape=(), initializer="zeros")

    def call(self, x):
        self.num_calls += 1
        return self.rest[0](self.first(x)) + self.bias.value


@pytest.mark.parametrize(("inner_is_marked", "num_calls"), [(True, 1), (False, 2)])
def test_mark_built_avoids_a_symbolic_call(inner_is_marked, num_calls):
    outer = Outer(inner_is_marked)
    assert float(outer(tf.constant(3.0))) == 3.0
    assert outer.num_calls == num_calls


def test_layers_inside_includes_the_layer_itself():
    outer = Outer()
    assert {id(layer) for layer in layers_inside(outer)} == {id(outer), id(outer.first), id(outer.rest[0])}


def test_own_variables_exclude_inner_layers():
    outer = Outer()
    assert [variable is outer.bias for variable in own_variables(outer)] == [True]
    assert len(outer.trainable_variables) == 3
