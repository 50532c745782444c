"""Modules after pooling, by hand."""

import numpy as np
import pytest

from bert_cli.sentence.steps import (
    ACTIVATIONS,
    Dense,
    LayerNorm,
    Normalize,
    Truncate,
    apply_steps,
    final_width,
    with_normalize,
)

VECTOR = np.float32([[3.0, 4.0]])
KERNEL = np.float32([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]])


def test_dense_layer_multiplies_adds_and_activates():
    assert Dense(KERNEL, np.float32([1, -5, 0]), "Identity")(VECTOR).tolist() == [[4.0, -1.0, 10.0]]
    assert Dense(KERNEL, np.float32([1, -5, 0]), "ReLU")(VECTOR).tolist() == [[4.0, 0.0, 10.0]]
    assert Dense(KERNEL, None, "Identity")(VECTOR).tolist() == [[3.0, 4.0, 10.0]]


def test_residual_is_added_after_the_activation():
    square = np.float32([[0.0, 1.0], [1.0, 0.0]])
    assert Dense(square, np.float32([0, -9]), "ReLU", has_residual=True)(VECTOR).tolist() == [[7.0, 4.0]]
    projected = Dense(KERNEL, None, "Identity", has_residual=True, residual_kernel=KERNEL)
    assert projected(VECTOR).tolist() == [[6.0, 8.0, 20.0]]


@pytest.mark.parametrize(
    ("name", "at_one"),
    [
        ("Tanh", 0.761594),
        ("Sigmoid", 0.731059),
        ("GELU", 0.841345),
        ("SiLU", 0.731059),
        ("ReLU", 1.0),
        ("Identity", 1.0),
    ],
)
def test_activations(name, at_one):
    assert ACTIVATIONS[name](np.float32([1.0])).item() == pytest.approx(at_one, abs=1e-6)


def test_every_activation_has_a_value_in_the_test_above():
    assert set(ACTIVATIONS) == {"Tanh", "Sigmoid", "GELU", "SiLU", "ReLU", "Identity"}


def test_layer_normalization():
    step = LayerNorm(np.float32([1, 2]), np.float32([0, 5]))
    np.testing.assert_allclose(step(np.float32([[1.0, 3.0]])), [[-1, 7]], atol=1e-4)


def test_vectors_are_divided_by_their_length():
    np.testing.assert_allclose(Normalize()(np.float32([[3, 4], [0, 0]])), [[0.6, 0.8], [0, 0]], rtol=1e-6)


def test_steps_follow_each_other():
    steps = (Dense(KERNEL, None, "Identity"), Truncate(2), Normalize())
    np.testing.assert_allclose(apply_steps(steps, VECTOR), [[0.6, 0.8]], rtol=1e-6)
    assert final_width(steps, 2) == 2
    assert final_width(steps[:1], 2) == 3


def test_a_normalization_is_added_or_removed():
    dense = Dense(KERNEL, None, "Identity")
    assert with_normalize((dense,), True) == (dense, Normalize())
    assert with_normalize((dense, Normalize()), True) == (dense, Normalize())
    assert with_normalize((dense, Normalize()), False) == (dense,)
