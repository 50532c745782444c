"""A trace of one transformer layer, shared by all encoders with the same config.

With gradient checkpointing (Chen et al., 2016), the layer's intermediate results are computed a
second time for the gradient, instead of being kept.
"""

import dataclasses
import threading
from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from bert_cli.model.config import BertConfig
from bert_cli.model.layers import TransformerLayer
from bert_cli.model.layout import Layout
from bert_cli.model.lora import Lora

Seeds = Sequence[tf.Tensor | None]  # seeds of a layer's dropouts
Products = tuple[tf.Tensor, tf.Tensor]  # see _call_with_recomputation


class SharedTrace:
    """A traced layer function for all encoders with one config.

    In a graph, each layer is a call of this function with the layer's weights as arguments.
    """

    # TensorFlow inlines the calls before it optimizes a graph. So results and speed are the same as
    # with a separate trace for each layer.

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._template: TransformerLayer | None = None
        self._traced = tf.function(self._run, autograph=False)
        self._traced_with_recomputation = tf.function(self._run_with_recomputation, autograph=False)
        self._traced_first_pass = tf.function(self._first_pass, autograph=False)
        self._traced_second_pass = tf.function(self._second_pass, autograph=False)

    def call(
        self,
        layer: TransformerLayer,
        x: tf.Tensor,
        layout: Layout,
        first_only: bool,
        seeds: Seeds,
    ) -> tuple[tf.Tensor, tf.Tensor | None]:
        """Return the result of layer(x, layout, first_only, seeds)."""
        # Outside a graph, nothing is traced, and calling a tf.function would only be slower.
        if not tf.inside_function():
            return layer(x, layout=layout, first_only=first_only, seeds=seeds)
        return self._call(self._traced, layer, x, layout, seeds, first_only)

    def call_recomputed(
        self, layer: TransformerLayer, x: tf.Tensor, layout: Layout, seeds: Sequence[tf.Tensor]
    ) -> tf.Tensor:
        """Return layer(x, layout, False, seeds)[0] with gradient checkpointing.

        Works only in a training graph.
        """
        return self._call(self._traced_with_recomputation, layer, x, layout, seeds)

    def _call(
        self,
        traced: Callable,
        layer: TransformerLayer,
        x: tf.Tensor,
        layout: Layout,
        seeds: Seeds,
        *options: bool,
    ) -> Any:
        weights = [tf.convert_to_tensor(variable.value) for variable in layer.variables]
        # Pass a tuple: a tf.function does not search dataclasses for tensors.
        layout_fields = tuple(getattr(layout, field.name) for field in dataclasses.fields(layout))
        # Any layer with this config can be the template for tracing. Do not keep it: traces outlive
        # models. The lock is needed because several threads may trace models from one thread.
        with self._lock:
            self._template = layer
            try:
                return traced(weights, x, layout_fields, tuple(seeds), *options)
            finally:
                self._template = None

    def _run(
        self, weights: list[tf.Tensor], x: tf.Tensor, layout_fields: tuple, seeds: Seeds, first_only: bool
    ) -> tuple[tf.Tensor, tf.Tensor | None]:
        return self._compute(weights, x, layout_fields, seeds, first_only)[:2]

    def _run_with_recomputation(
        self, weights: list[tf.Tensor], x: tf.Tensor, layout_fields: tuple, seeds: Seeds
    ) -> tf.Tensor:
        return _call_with_recomputation(
            self._traced_first_pass, self._traced_second_pass, [x, *seeds, *weights], layout_fields
        )

    def _first_pass(self, values: list[tf.Tensor], layout_fields: tuple) -> tuple[tf.Tensor, Products]:
        y, _, products = self._compute(*_split_values(values, layout_fields))
        return y, products

    def _second_pass(self, values: list[tf.Tensor], layout_fields: tuple, products: Products) -> tf.Tensor:
        return self._compute(*_split_values(values, layout_fields), products=products)[0]

    def _compute(
        self,
        weights: list[tf.Tensor],
        x: tf.Tensor,
        layout_fields: tuple,
        seeds: Seeds,
        first_only: bool = False,
        **products: Products,
    ) -> tuple[tf.Tensor, tf.Tensor | None, Products]:
        layer = self._template
        assert layer is not None, "_call sets it"
        with keras.StatelessScope(state_mapping=list(zip(layer.variables, weights, strict=True))):
            return layer.compute(x, Layout(*layout_fields), first_only, seeds, **products)


def _split_values(values: list[tf.Tensor], layout_fields: tuple) -> tuple[list[tf.Tensor], tf.Tensor, tuple, Seeds]:
    """Return the arguments of SharedTrace._compute from the values for recomputation."""
    x, *seeds = values[:4]
    return values[4:], x, layout_fields, seeds


def _call_with_recomputation(
    first_pass: tf.types.experimental.PolymorphicFunction,
    second_pass: tf.types.experimental.PolymorphicFunction,
    values: Sequence[tf.Tensor],
    constants: Any,
) -> tf.Tensor:
    """Return y from (y, kept) = first_pass(values, constants), with a gradient.

    For the gradient, only `values`, `constants` and `kept` stay in memory. Works only in a graph.

    Args:
        first_pass: computes y and the tensors to keep.
        second_pass: second_pass(values, constants, kept) computes the same y for the gradient. If
            both passes draw random numbers, the seeds must be among the values.
        values: tensors; floating-point ones have a gradient.
        constants: further arguments, without a gradient.
    """

    @tf.custom_gradient
    def forward(*values: tf.Tensor) -> tuple[tf.Tensor, Callable]:
        # Detach the values: if an outer tape watched them, TensorFlow would prepare gradients of
        # gradients.
        detached = [tf.stop_gradient(value) for value in values]
        watched = _floats(detached)
        with tf.GradientTape() as tape:
            tape.watch(watched)
            y, kept = first_pass(detached, constants)
        # Trace now: when the gradient is computed, the caller has returned, and with several
        # devices a call of second_pass would trace again.
        traced_second_pass = second_pass.get_concrete_function(detached, constants, kept)

        def gradient(dy: tf.Tensor) -> list[tf.Tensor | None]:
            # Nothing uses this gradient, so it is never computed. But it turns the intermediate
            # results that it would need into outputs of the call of first_pass.
            tape.gradient(y, watched, dy)
            # TensorFlow fuses operators if nothing else reads the results between them, and fused
            # operators round differently. In the second pass, as without recomputation, the
            # gradient reads these results. Reading their sizes in the first pass prevents fusion
            # there, too, and keeps no memory.
            sizes = [tf.raw_ops.Size(input=output) for output in y.op.outputs[1:]]
            # Operators run as soon as their inputs exist, so make the second pass's inputs wait for
            # dy. They need tf.identity: the call of a function without side effects ignores
            # control dependencies.
            with tf.control_dependencies([tf.identity(dy), *sizes]):
                delayed = [tf.identity(value) for value in values]
            delayed_floats = _floats(delayed)
            with tf.GradientTape() as second_tape:
                second_tape.watch(delayed_floats)
                second_y = traced_second_pass(delayed, constants, kept)
            gradients = iter(second_tape.gradient(second_y, delayed_floats, dy))
            return [next(gradients) if value.dtype.is_floating else None for value in values]

        return y, gradient

    return forward(*values)


def _floats(values: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    return [value for value in values if value.dtype.is_floating]


class _Traces(threading.local):
    """The current thread's traces by config and adapters."""

    # TensorFlow adds a trace's gradient to its graph. Two threads in training would change a shared
    # graph at the same time.
    def __init__(self) -> None:
        self.by_layer: dict[tuple[BertConfig, Lora | None], SharedTrace] = {}


_TRACES = _Traces()


def shared_trace(config: BertConfig, lora: Lora | None = None) -> SharedTrace:
    """Return the current thread's SharedTrace for models with this config and these adapters."""
    return _TRACES.by_layer.setdefault((config, lora), SharedTrace())
