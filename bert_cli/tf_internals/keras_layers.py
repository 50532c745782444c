"""What Keras knows of a layer and does not offer; checked with Keras 3.15.1."""

from collections.abc import Iterator

import keras


def mark_built(layer: keras.layers.Layer) -> None:
    """Say that a layer made its variables in its constructor."""
    # Otherwise the first call of a layer around it traces that layer's `call` once more, on
    # symbolic inputs, to build this one.
    layer.built = True


def layers_inside(layer: keras.layers.Layer) -> Iterator[keras.layers.Layer]:
    """The layer and all layers inside it, at any depth."""
    # `Model.layers` has only the first level, and a Layer has no such property.
    return layer._flatten_layers(include_self=True, recursive=True)


def own_variables(layer: keras.layers.Layer) -> list[keras.Variable]:
    """The trainable variables that a layer added itself, in that order; `trainable_variables` adds
    variables of inner layers.
    """
    return list(layer._trainable_variables)
