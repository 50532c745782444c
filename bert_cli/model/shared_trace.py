"""Layers that differ in their weights alone, traced once: a graph of twelve layers then takes the time of one or two."""

import dataclasses
from collections.abc import Sequence

import keras
import tensorflow as tf

from bert_cli.model.layers import TransformerLayer
from bert_cli.model.layout import Layout


class SharedTrace:
    """The layers of an encoder. Within a graph each is a call of one function, whose arguments are the layer's weights."""

    # TensorFlow replaces the calls by the function's body before it optimizes the graph. So what is computed is what tracing
    # each layer would have made, at the same speed.

    def __init__(self, layers: Sequence[TransformerLayer]):
        self._pattern = layers[0]
        self._traced = tf.function(self._run, autograph=False)

    def call(
        self, layer: TransformerLayer, x: tf.Tensor, layout: Layout, first_only: bool, seeds: Sequence[tf.Tensor | None]
    ) -> tuple[tf.Tensor, tf.Tensor | None]:
        """What layer(x, layout, first_only, seeds) returns."""
        # Outside of a graph nothing is traced, and a call of a tf.function would only be slower.
        if not tf.inside_function():
            return layer(x, layout=layout, first_only=first_only, seeds=seeds)
        weights = [tf.convert_to_tensor(variable.value) for variable in layer.trainable_variables]
        parts = tuple(getattr(layout, field.name) for field in dataclasses.fields(layout))
        return self._traced(weights, x, parts, first_only, tuple(seeds))

    def _run(self, weights, x, parts, first_only, seeds):
        with keras.StatelessScope(state_mapping=list(zip(self._pattern.trainable_variables, weights, strict=True))):
            return self._pattern(x, layout=Layout(*parts), first_only=first_only, seeds=seeds)
