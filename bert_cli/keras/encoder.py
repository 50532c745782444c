"""The BERT encoder as a Keras 3 layer."""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from bert_cli.api.model_path import find_model
from bert_cli.base.errors import InputError, name_arguments_in_errors
from bert_cli.base.head_types import POOLER
from bert_cli.base.log import warn_once
from bert_cli.base.spec import INPUTS
from bert_cli.model.config import BertConfig
from bert_cli.model.deferred_initialization import DeferredInitialization
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.opening.network import load_bert
from bert_cli.runtime.process import refuse_lost_tensorflow
from bert_cli.tf_internals.keras_layers import mark_built
from bert_cli.weights.checkpoint import NO_BERT, load_weights, open_checkpoint

_WORDS = "bert/embeddings/word_embeddings"


class _WithoutPooler(dict):
    """Outputs of an encoder without a pooler."""

    def __missing__(self, name: str) -> Any:
        if name == "pooled_output":
            raise InputError(
                "pooled_output: this model has no pooler; use sequence_output, or load it with new_pooler=True for a "
                "random one that training adapts"
            )
        raise KeyError(name)


@keras.saving.register_keras_serializable(package="bert_cli")
class Encoder(keras.layers.Layer):
    """BERT encoder with the inputs and outputs of tensorflow-hub modules.

    Inputs are a dict of int [B, S]: `input_word_ids`, `input_mask` (1 for a token, 0 for padding)
    and `input_type_ids` (0 for the first text, 1 for the second). Outputs are a dict of float32:
    `sequence_output` [B, S, H], `pooled_output` [B, H], and `encoder_outputs`, a list with one [B,
    S, H] per layer. S may be unknown. Training uses the config's dropout. Matrix products use the
    layer's compute dtype.
    """

    def __init__(self, config: BertConfig | Mapping[str, Any], has_pooler: bool = True, **options: Any):
        """Make an encoder with random weights.

        Args:
            config: a BertConfig, or a dict with its fields.
            has_pooler: whether `pooled_output` can be used; it is not among the outputs otherwise.
            **options: arguments for keras.layers.Layer.
        """
        super().__init__(**options)
        self.has_pooler = has_pooler
        self.config = config if isinstance(config, BertConfig) else BertConfig(**config)
        # XLA cannot compile some operations, and on a CPU it is faster without.
        self.supports_jit = False
        self.bert = BertEncoder(self.config, self.compute_dtype)
        mark_built(self)
        # The inner layers do not exist yet when Keras sets `trainable` on this layer.
        self.bert.trainable = self.trainable

    @classmethod
    @name_arguments_in_errors(absent=None, init_checkpoint="path")
    def load(
        cls,
        path: str | os.PathLike | None = None,
        trainable: bool = True,
        new_pooler: bool = False,
        gelu: str = "auto",
        **options: Any,
    ) -> "Encoder":
        """Load a checkpoint in any format, with the config next to it.

        If the model has no pooler, such as a masked LM or the built-in model, `pooled_output` raises
        an InputError.

        Args:
            path: a TF1 checkpoint, an output_dir, a Hugging Face directory, a .weights.h5 file or a
                tensorflow-hub module; None for the built-in pre-trained model.
            trainable: whether training changes its weights.
            new_pooler: whether to draw a random pooler, to train it, if the model has no pooler.
            gelu: form of GELU: erf, tanh, or auto for the form in the model's files.
            **options: arguments for keras.layers.Layer, such as name or dtype.

        Raises:
            InputError: something is missing, damaged or does not fit together.
        """
        checkpoint = find_model(path)
        reader = open_checkpoint(checkpoint)
        num_words = reader.shapes[_WORDS][0] if _WORDS in reader.shapes else None
        config = load_bert(checkpoint, num_words, gelu)
        has_pooler = any(name.startswith(POOLER) for name in reader.shapes)
        if not has_pooler:
            state = "starts from random values" if new_pooler else "cannot be used; new_pooler=True makes a random one"
            warn_once(f"warning: {reader.description}: has no pooler: pooled_output {state}")
        deferred = DeferredInitialization()
        with deferred.deferring():
            layer = cls(config, has_pooler or new_pooler, trainable=trainable, **options)
        variables = named_weights(layer.bert)
        report = load_weights(variables, reader)
        report.check_whole(NO_BERT, POOLER)  # some Hugging Face classes have no pooler
        deferred.initialize_except(variables[name] for name in report.loaded)
        return layer

    def __call__(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Return the outputs, see the class."""
        outputs = super().__call__(*arguments, **options)
        # Wrap them here: Keras turns other mappings into plain dicts.
        return outputs if self.has_pooler else _WithoutPooler(outputs)

    def call(self, inputs: Mapping[str, Any], training: bool | None = None) -> dict[str, Any]:
        """Return the outputs for `inputs`, see the class."""
        refuse_lost_tensorflow()
        self._check(inputs)
        outputs = self.bert({name: tf.cast(inputs[name], tf.int32) for name in INPUTS}, training=bool(training))
        pooled = ("pooled_output",) if self.has_pooler else ()
        return {name: outputs[name] for name in ("sequence_output", *pooled, "encoder_outputs")}

    def compute_output_spec(self, inputs: Mapping[str, Any], training: bool | None = None) -> dict[str, Any]:
        """Return the outputs of `call` as KerasTensors, so that functional models need no tracing."""
        self._check(inputs)
        hidden = self.config.hidden_size
        states = [
            keras.KerasTensor((*inputs[INPUTS[0]].shape, hidden)) for _ in range(self.config.num_hidden_layers + 1)
        ]
        pooled = keras.KerasTensor((inputs[INPUTS[0]].shape[0], hidden))
        outputs = {"sequence_output": states.pop(), "pooled_output": pooled, "encoder_outputs": states}
        return outputs if self.has_pooler else {name: outputs[name] for name in ("sequence_output", "encoder_outputs")}

    def _check(self, inputs: Any) -> None:
        is_dict = isinstance(inputs, Mapping) and set(INPUTS) <= set(inputs)
        if not is_dict or any(len(inputs[name].shape) != 2 for name in INPUTS):
            raise InputError(f"inputs of an Encoder: a dict of {', '.join(INPUTS)} is needed, int [B, S] each")
        length = inputs[INPUTS[0]].shape[1]
        max_positions = self.config.max_position_embeddings
        if length is not None and length > max_positions:
            raise InputError(
                f"inputs of an Encoder: {length} tokens a row, and the model has {max_positions} positions"
            )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that `from_config` needs to make an encoder with this config."""
        return super().get_config() | {"config": dataclasses.asdict(self.config), "has_pooler": self.has_pooler}
