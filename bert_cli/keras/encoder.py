"""The BERT encoder as a Keras 3 layer."""

import collections
import dataclasses
import os
from collections.abc import Mapping
from typing import Any, NoReturn

import keras
import numpy as np
import tensorflow as tf

from bert_cli.api.inputs.model_path import find_model
from bert_cli.base.errors import InputError, InputTypeError, name_arguments_in_errors
from bert_cli.base.head_types import POOLER
from bert_cli.base.log import warn_once
from bert_cli.base.spec import INPUT_MASK, INPUTS, WORD_EMBEDDINGS
from bert_cli.model.config import BertConfig
from bert_cli.model.deferred_initialization import DeferredInitialization
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.opening.network import load_bert
from bert_cli.runtime.process import refuse_lost_tensorflow
from bert_cli.tf_internals.keras_layers import mark_built
from bert_cli.training.optimizers.hyperparameters import layer_factors, rate_factors
from bert_cli.weights.checkpoint import NO_BERT, load_weights, open_checkpoint

_WORDS = "bert/embeddings/word_embeddings"


@keras.saving.register_keras_serializable(package="bert_cli")
class Encoder(keras.layers.Layer):
    """BERT encoder with the inputs and outputs of tensorflow-hub modules.

    Inputs are a dict of int [B, S]: `input_word_ids`, `input_mask` (1 for a token, 0 for padding)
    and `input_type_ids` (0 for the first text, 1 for the second). Outputs are a dict of float32:
    `sequence_output` [B, S, H], `pooled_output` [B, H], and `encoder_outputs`, a list with one [B,
    S, H] per layer. S may be unknown. Training uses the config's dropout. Matrix products use the
    layer's compute dtype.

    `input_word_embeddings`, float [B, S, E], may replace `input_word_ids`, for example to get
    gradients with respect to words; `embed_words` returns them.
    """

    def __init__(
        self,
        config: BertConfig | Mapping[str, Any],
        has_pooler: bool = True,
        freeze_layers: int | None = None,
        return_attention: bool = False,
        **options: Any,
    ):
        """Make an encoder with random weights.

        Args:
            config: a BertConfig, or a dict with its fields.
            has_pooler: whether `pooled_output` can be used; it is not among the outputs otherwise.
            freeze_layers: N freezes the embeddings and the lowest N layers, 0 the embeddings, None
                nothing. The attribute may change later; compile the model again then.
            return_attention: whether `attention_probs` is among the outputs, a list with one [B, N,
                S, S] per layer: probabilities before dropout, from each token to each token.
            **options: arguments for keras.layers.Layer.
        """
        # Without autocast: word embeddings are float32 in each compute dtype.
        super().__init__(autocast=False, **options)
        self.has_pooler = has_pooler
        self.return_attention = return_attention
        self.config = config if isinstance(config, BertConfig) else BertConfig(**config)
        # XLA cannot compile some operations, and on a CPU it is faster without.
        self.supports_jit = False
        self.bert = BertEncoder(self.config, self.compute_dtype)
        mark_built(self)
        self.freeze_layers = freeze_layers

    @classmethod
    @name_arguments_in_errors(absent=None, init_checkpoint="path")
    def load(
        cls,
        path: str | os.PathLike | None = None,
        trainable: bool = True,
        new_pooler: bool = False,
        gelu: str = "auto",
        freeze_layers: int | None = None,
        return_attention: bool = False,
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
            freeze_layers: see the constructor.
            return_attention: see the constructor.
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
            layer = cls(
                config, has_pooler or new_pooler, freeze_layers, return_attention, trainable=trainable, **options
            )
        variables = named_weights(layer.bert)
        report = load_weights(variables, reader)
        report.check_whole(NO_BERT, POOLER)  # some Hugging Face classes have no pooler
        deferred.initialize_except(variables[name] for name in report.loaded)
        return layer

    @property
    def freeze_layers(self) -> int | None:
        """The number of frozen layers, see the constructor."""
        return self._freeze_layers

    @freeze_layers.setter
    def freeze_layers(self, number: int | None) -> None:
        num_layers = self.config.num_hidden_layers
        is_whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if number is not None and not is_whole:
            raise InputTypeError(f"freeze_layers={number!r:.40}: a whole number is needed, or None")
        if number is not None and not 0 <= number <= num_layers:
            raise InputError(f"freeze_layers={number}: the model has {num_layers} layers; give 0 to {num_layers}")
        self._freeze_layers = None if number is None else int(number)
        self._freeze()

    @property
    def trainable(self) -> bool:
        """True if training changes the weights that are not frozen."""
        return super().trainable

    @trainable.setter
    def trainable(self, is_trainable: bool) -> None:
        # Keras sets all weights inside, also those that freeze_layers freezes.
        keras.layers.Layer.trainable.fset(self, is_trainable)
        self._freeze()

    def _freeze(self) -> None:
        """Set which weights training changes."""
        weights = named_weights(self.bert)
        factors = layer_factors(self.config.num_hidden_layers, frozen_layers=self.freeze_layers)
        # Keras warns about weights without a gradient, such as an unused pooler's.
        factors |= {} if self.has_pooler else {POOLER: 0.0}
        for name, factor in rate_factors(weights, factors).items():
            weights[name].trainable = self.trainable and factor > 0

    def embed_words(self, input_word_ids: Any) -> tf.Tensor:
        """Return the rows of the word table for ids of any shape, float32 [..., E]."""
        return self.bert.embeddings.look_up(tf.cast(input_word_ids, tf.int32))

    def call(self, inputs: Mapping[str, Any], training: bool | None = None) -> dict[str, Any]:
        """Return the outputs for `inputs`, see the class."""
        refuse_lost_tensorflow()
        self._check(inputs)
        encoder_inputs = {name: tf.cast(inputs[name], tf.int32) for name in INPUTS if name in inputs}
        encoder_inputs |= {name: inputs[name] for name in (WORD_EMBEDDINGS,) if name in inputs}
        outputs = self.bert(encoder_inputs, training=bool(training), return_attention=self.return_attention)
        return self._select(outputs)

    def compute_output_spec(self, inputs: Mapping[str, Any], training: bool | None = None) -> dict[str, Any]:
        """Return the outputs of `call` as KerasTensors, so that functional models need no tracing."""
        self._check(inputs)
        config = self.config
        batch, length = inputs[INPUT_MASK].shape
        states = [keras.KerasTensor((batch, length, config.hidden_size)) for _ in range(config.num_hidden_layers + 1)]
        outputs = {
            "sequence_output": states.pop(),
            "pooled_output": keras.KerasTensor((batch, config.hidden_size)),
            "encoder_outputs": states,
            "attention_probs": [keras.KerasTensor((batch, config.num_attention_heads, length, length)) for _ in states],
        }
        return self._select(outputs)

    def _select(self, outputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs that this layer has."""
        pooled = ["pooled_output"] if self.has_pooler else []
        attention = ["attention_probs"] if self.return_attention else []
        names = ["sequence_output", *pooled, "encoder_outputs", *attention]
        selected = {name: outputs[name] for name in names}
        # Keras looks into a defaultdict, but into no other subclass of dict.
        return selected if self.has_pooler else collections.defaultdict(_refuse_output, selected)

    def _check(self, inputs: Any) -> None:
        ranks = dict.fromkeys(INPUTS, 2)
        if isinstance(inputs, Mapping) and WORD_EMBEDDINGS in inputs:
            ranks = {WORD_EMBEDDINGS: 3} | dict.fromkeys(INPUTS[1:], 2)
            width, expected = inputs[WORD_EMBEDDINGS].shape[-1], self.config.embedding_width
            if width != expected:
                raise InputError(f"inputs of an Encoder: {WORD_EMBEDDINGS} has width {width}, the model has {expected}")
        is_dict = isinstance(inputs, Mapping) and set(ranks) <= set(inputs)
        if not is_dict or any(len(inputs[name].shape) != rank for name, rank in ranks.items()):
            raise InputError(
                f"inputs of an Encoder: a dict of {', '.join(INPUTS)} is needed, int [B, S] each; "
                f"{WORD_EMBEDDINGS} [B, S, E] may replace the first"
            )
        length = inputs[INPUT_MASK].shape[1]
        max_positions = self.config.max_position_embeddings
        if length is not None and length > max_positions:
            raise InputError(
                f"inputs of an Encoder: {length} tokens a row, and the model has {max_positions} positions"
            )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that `from_config` needs to make an encoder with this config."""
        return super().get_config() | {
            "config": dataclasses.asdict(self.config),
            "has_pooler": self.has_pooler,
            "freeze_layers": self.freeze_layers,
            "return_attention": self.return_attention,
        }


def _refuse_output() -> NoReturn:
    """Raise InputError for an output that a model without pooler lacks."""
    raise InputError(
        "no such output: this model has no pooler, so it has sequence_output and encoder_outputs, and attention_probs "
        "with return_attention=True; new_pooler=True adds a pooler of random weights, which training adapts"
    )
