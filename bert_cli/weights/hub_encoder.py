"""Encoder that runs a tensorflow-hub module's graph.

It is used if the module for --hub_module is not a BERT, for example an ALBERT. Like published
modules, it must take a dict with input_word_ids, input_mask and input_type_ids, and return a dict
with pooled_output and sequence_output.
"""

import re
from typing import Any

import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError, first_line
from bert_cli.base.spec import INPUTS, encoder_inputs
from bert_cli.model.config import ModuleConfig
from bert_cli.model.layers import Scoped
from bert_cli.weights.module_path import find_module
from bert_cli.weights.path import CheckpointPath

_PROBE_LENGTH = 8
# Maximum sequence length of all published modules.
_MAX_POSITIONS = 512


def _load(folder: str, name: str) -> Any:
    try:
        return tf.saved_model.load(folder)
    except (OSError, ValueError, RuntimeError, KeyError, tf.errors.OpError) as error:
        reason = first_line(error)
        match = re.search(r"Op type not registered '(\w+)'", reason)
        if match:
            hint = (
                "(an exported classifier takes texts: give the model that it was exported from; so does a preprocessor)"
            )
            reason = f"it needs the operation {match[1]}, which is not TensorFlow's {hint}"
        raise InputError(f"{name}: this module cannot be loaded: {reason}") from None


class _Module:
    """A loaded module that was tested on a small batch.

    Attributes:
        takes_training: whether the module has an argument `training`.
        width: output width.
        layers: number of layers.
    """

    def __init__(self, folder: str, name: str):
        """Load and test a module; raise InputError if it does not have an encoder's interface."""
        self.loaded = _load(folder, name)
        needed = f"--hub_module needs an encoder that takes a dict of {', '.join(INPUTS)}, int32 [batch, length]"
        if not callable(self.loaded):
            raise InputError(f"{name}: is not an encoder in TF2's format, and holds no BERT in TF1's; {needed}")
        batch = {name: tf.ones([1, _PROBE_LENGTH], tf.int32) for name in INPUTS}
        # Try both: some published modules have no argument `training`, which only a call shows.
        for takes_training in (True, False):
            self.takes_training = takes_training
            outputs = self._try(batch)
            if outputs is not None:
                break
        else:
            raise InputError(f"{name}: is not an encoder of token ids; {needed}")
        pooled, sequence = (outputs.get(key) for key in ("pooled_output", "sequence_output"))
        if pooled is None or pooled.shape.rank != 2 or sequence is None or sequence.shape[:2] != [1, _PROBE_LENGTH]:
            raise InputError(
                f"{name}: gives no pooled_output [batch, H] and sequence_output [batch, length, "
                "H]: it is not an encoder of tokens"
            )
        self.width = int(sequence.shape[-1])
        self.layers = len(outputs.get("encoder_outputs", [sequence]))

    def _try(self, batch: dict) -> dict | None:
        """Return the outputs, or None if the module rejects the batch or returns no dict."""
        try:
            outputs = self(batch, False)
        except (TypeError, ValueError, KeyError, tf.errors.OpError):
            return None
        return outputs if isinstance(outputs, dict) else None

    def __call__(self, inputs: dict, training: bool) -> dict:
        return self.loaded(inputs, training=training) if self.takes_training else self.loaded(inputs)

    @property
    def weights(self) -> list[tf.Variable]:
        """Return the trainable variables."""
        return list(getattr(self.loaded, "trainable_variables", ()))


def module_config(module: CheckpointPath, vocab_size: int) -> ModuleConfig:
    """Return a module's config; raise InputError if it is not an encoder.

    Args:
        vocab_size: vocabulary size, which the module does not contain.
    """
    loaded = _Module(module.location, module.name)
    positions = [
        int(weight.shape[0]) for weight in loaded.weights if "position" in weight.name and weight.shape.rank == 2
    ]
    return ModuleConfig(
        module.identity, vocab_size, loaded.width, loaded.layers, min(positions, default=_MAX_POSITIONS)
    )


def preprocessor_lower_cases(folder: str, name: str, word: str) -> bool:
    """Return whether a preprocessor module lowercases texts, by trying a word in both cases.

    Args:
        folder: the module's directory.
        name: name for messages.
        word: a lowercase word in the module's vocabulary.
    """
    # Import tensorflow_text, which registers operations that the graph uses.
    import tensorflow_text  # noqa: F401

    module = _load(folder, name)
    try:
        lower, upper = [np.asarray(module(tf.constant([text]))["input_word_ids"]) for text in (word, word.upper())]
    except (TypeError, ValueError, KeyError, tf.errors.OpError):
        raise InputError(f"{name}: is not a preprocessor of texts; check --hub_preprocess") from None
    return bool(np.array_equal(lower, upper))


class ModuleEncoder(Scoped):
    """A module with the part of BertEncoder's interface that heads use.

    Its trainable variables are hub/<name in the module> in checkpoints. It ignores `packed`, `seed`
    and the compute dtype, because the graph computes padding, too, and has a fixed precision.
    """

    def __init__(self, config: ModuleConfig):
        """Load the module that the config names; raise InputError if its width differs."""
        super().__init__("hub")
        self.config = config
        path = find_module(config.hub_module, "hub_module")
        self._module = _Module(path.location, path.name)
        if self._module.width != config.hidden_size:
            raise InputError(
                f"{path.name}: its outputs are {self._module.width} wide, not "
                f"{config.hidden_size} as when it was trained"
            )
        self._variables: dict[str, tf.Variable] = {}
        for variable in self._module.weights:
            name = f"{self.scope}/{variable.name.removesuffix(':0')}"
            # Make names unique for the checkpoint: a module may use a name twice.
            while name in self._variables:
                name += "_"
            self._variables[name] = variable

    def named_variables(self) -> dict[str, tf.Variable]:
        """Return the variables by name."""
        return dict(self._variables)

    def without_gradient(self, layer: int | None) -> set[str]:
        """Return the names of variables that a loss on a layer does not depend on.

        These have a zero gradient on a small batch. A loaded graph never returns None instead.

        Args:
            layer: layer index in encoder_outputs; None for pooled_output.
        """
        batch = {name: tf.ones([1, _PROBE_LENGTH], tf.int32) for name in INPUTS}
        with tf.GradientTape() as tape:
            outputs = self(batch)
            states = outputs["pooled_output"] if layer is None else outputs["encoder_outputs"][layer]
            # Use random weights: the sum of normalized outputs is constant.
            total = tf.reduce_sum(states * tf.random.stateless_normal(states.shape, seed=(1, 2)))
        gradients = tape.gradient(total, list(self._variables.values()), unconnected_gradients="zero")
        return {
            name
            for name, gradient in zip(self._variables, gradients, strict=True)
            if not np.any(tf.convert_to_tensor(gradient))
        }

    def call(
        self,
        inputs: dict[str, tf.Tensor],
        training: bool = False,
        seed: tf.Tensor | None = None,
        packed: bool = False,
        pooled_only: bool = False,
        return_attention: bool = False,
    ) -> dict[str, Any]:
        """Return BertEncoder's outputs (see `BertEncoder.call`), without embeddings and attention."""
        # Pass a Python bool: a SavedModel has a traced function for each of the two values.
        outputs = self._module(encoder_inputs(inputs), bool(training))
        sequence = tf.cast(outputs["sequence_output"], tf.float32)
        states = [tf.cast(state, tf.float32) for state in outputs.get("encoder_outputs", [sequence])]
        return {
            "encoder_outputs": states,
            "sequence_output": sequence,
            "first_output": sequence[:, 0],
            "pooled_output": tf.cast(outputs["pooled_output"], tf.float32),
        }
