"""One trace of a transformer layer for all layers of all encoders of a config."""

import dataclasses
import threading
from collections.abc import Sequence

import keras
import tensorflow as tf

from bert_cli.model.config import BertConfig
from bert_cli.model.layers import TransformerLayer
from bert_cli.model.layout import Layout
from bert_cli.model.recomputation import recomputed


class SharedTrace:
    """The layers of all encoders of one config. Within a graph each is a call of one function,
    whose arguments are the layer's weights.
    """

    # TensorFlow replaces the calls by the function's body before it optimizes the graph. So what is
    # computed is what tracing each layer would have made, at the same speed.

    def __init__(self):
        self._lock = threading.RLock()
        self._pattern: TransformerLayer | None = None
        self._traced = tf.function(self._run, autograph=False)
        self._traced_recomputed = tf.function(self._recomputed, autograph=False)
        self._traced_first = tf.function(self._first, autograph=False)
        self._traced_again = tf.function(self._again, autograph=False)

    def call(
        self,
        layer: TransformerLayer,
        x: tf.Tensor,
        layout: Layout,
        first_only: bool,
        seeds: Sequence[tf.Tensor | None],
    ) -> tuple[tf.Tensor, tf.Tensor | None]:
        """What layer(x, layout, first_only, seeds) returns."""
        # Outside of a graph nothing is traced, and a call of a tf.function would only be slower.
        if not tf.inside_function():
            return layer(x, layout=layout, first_only=first_only, seeds=seeds)
        return self._call(self._traced, layer, x, layout, seeds, first_only)

    def call_recomputed(
        self, layer: TransformerLayer, x: tf.Tensor, layout: Layout, seeds: Sequence[tf.Tensor]
    ) -> tf.Tensor:
        """layer(x, layout, False, seeds)[0] in a graph that trains: see model.recomputation."""
        return self._call(self._traced_recomputed, layer, x, layout, seeds)

    def _call(self, traced, layer, x, layout, seeds, *others):
        weights = [tf.convert_to_tensor(variable.value) for variable in layer.variables]
        # As a tuple: a tf.function does not look for tensors inside a dataclass.
        parts = tuple(getattr(layout, field.name) for field in dataclasses.fields(layout))
        # Any layer of the config serves for tracing. It is not kept: the traces outlive the models.
        # Models that were made in one thread may be traced in several.
        with self._lock:
            self._pattern = layer
            try:
                return traced(weights, x, parts, tuple(seeds), *others)
            finally:
                self._pattern = None

    def _run(self, weights, x, parts, seeds, first_only):
        return self._computed(weights, x, parts, seeds, first_only)[:2]

    def _recomputed(self, weights, x, parts, seeds):
        return recomputed(self._traced_first, self._traced_again, [x, *seeds, *weights], parts)

    def _first(self, values, parts):
        y, _, products = self._computed(*_arguments(values, parts))
        return y, products

    def _again(self, values, parts, products):
        return self._computed(*_arguments(values, parts), products=products)[0]

    def _computed(self, weights, x, parts, seeds, first_only=False, **products):
        layer = self._pattern
        assert layer is not None, "_call sets it"
        with keras.StatelessScope(state_mapping=list(zip(layer.variables, weights, strict=True))):
            return layer.compute(x, Layout(*parts), first_only, seeds, **products)


def _arguments(values, parts):
    """Of _computed, from the values that SharedTrace._recomputed passes on."""
    x, *seeds = values[:4]
    return values[4:], x, parts, seeds


class _Traces(threading.local):
    """Traces of this thread, by config."""

    # Separate per thread: TensorFlow makes the gradient of a trace inside its graph, and two
    # threads that train would change that graph at the same time.
    def __init__(self) -> None:
        self.of_config: dict[BertConfig, SharedTrace] = {}


_TRACES = _Traces()


def shared_trace(config: BertConfig) -> SharedTrace:
    """Return the SharedTrace of a config for models that this thread makes."""
    return _TRACES.of_config.setdefault(config, SharedTrace())
