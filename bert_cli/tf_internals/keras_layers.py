"""Private attributes of Keras layers; checked with Keras 3.15.1."""

from collections.abc import Iterator

import keras


def mark_built(layer: keras.layers.Layer) -> None:
    """Declare that a layer created its variables in its constructor."""
    # Otherwise, to build this layer, the first call of an outer layer traces the outer `call` an
    # extra time with symbolic inputs.
    layer.built = True


def layers_inside(layer: keras.layers.Layer) -> Iterator[keras.layers.Layer]:
    """Return an iterator over the layer and all layers inside it, at any depth."""
    # `Model.layers` has only the first level, and a Layer has no such property.
    return layer._flatten_layers(include_self=True, recursive=True)


def own_variables(layer: keras.layers.Layer) -> list[keras.Variable]:
    """Return the trainable variables that a layer added itself, in the order of creation.

    Use `trainable_variables` if variables of inner layers are needed, too.
    """
    return list(layer._trainable_variables)
