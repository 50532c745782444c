"""An encoder that is not a BERT of ours: a module for tensorflow-hub, run by its own graph. Imports
TensorFlow.

This is what --hub_module asks for where the module's variables make up no BERT, such as an ALBERT.
The module must take a dict of input_word_ids, input_mask and input_type_ids, and give pooled_output
and sequence_output, as the published ones do.
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
_MAX_POSITIONS = 512  # of all published modules


def _load(folder: str, name: str) -> Any:
    try:
        return tf.saved_model.load(folder)
    except (OSError, ValueError, RuntimeError, KeyError, tf.errors.OpError) as error:
        reason = first_line(error)
        unknown = re.search(r"Op type not registered '(\w+)'", reason)
        if unknown:
            texts = "(does it take texts? --hub_preprocess is for these)"
            reason = f"it needs the operation {unknown[1]}, which is not TensorFlow's {texts}"
        raise InputError(f"{name}: this module cannot be loaded: {reason}") from None


class _Module:
    """A loaded module that was tried on a small batch; InputError where it has not the interface of
    an encoder.
    """

    def __init__(self, folder: str, name: str):
        self.loaded = _load(folder, name)
        needed = f"--hub_module needs an encoder that takes a dict of {', '.join(INPUTS)}, int32 [batch, length]"
        if not callable(self.loaded):
            raise InputError(f"{name}: is not an encoder in TF2's format, and holds no BERT in TF1's; {needed}")
        batch = {name: tf.ones([1, _PROBE_LENGTH], tf.int32) for name in INPUTS}
        # Some published modules have no argument `training`, and say so only when they are called.
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
        """The outputs; None where the module says that it does not take this, or gives no dict."""
        try:
            outputs = self(batch, False)
        except (TypeError, ValueError, KeyError, tf.errors.OpError):
            return None
        return outputs if isinstance(outputs, dict) else None

    def __call__(self, inputs: dict, training: bool) -> dict:
        return self.loaded(inputs, training=training) if self.takes_training else self.loaded(inputs)

    @property
    def weights(self) -> list[tf.Variable]:
        return list(getattr(self.loaded, "trainable_variables", ()))


def module_config(module: CheckpointPath, vocab_size: int) -> ModuleConfig:
    """What a module is like; InputError where it is not an encoder."""
    tried = _Module(module.location, module.name)
    positions = [
        int(weight.shape[0]) for weight in tried.weights if "position" in weight.name and weight.shape.rank == 2
    ]
    return ModuleConfig(module.identity, vocab_size, tried.width, tried.layers, min(positions, default=_MAX_POSITIONS))


def preprocessor_lower_cases(folder: str, name: str, word: str) -> bool:
    """Whether a module that makes token ids of texts lower-cases them: it is asked for a lower-case
    word it knows.
    """
    import tensorflow_text  # noqa: F401  (registers the operations of the module's graph)

    module = _load(folder, name)
    try:
        lower, upper = [np.asarray(module(tf.constant([text]))["input_word_ids"]) for text in (word, word.upper())]
    except (TypeError, ValueError, KeyError, tf.errors.OpError):
        raise InputError(f"{name}: is not a preprocessor of texts; check --hub_preprocess") from None
    return bool(np.array_equal(lower, upper))


class ModuleEncoder(Scoped):
    """A module with the interface of model.encoder.BertEncoder, as far as the heads need it.

    Its trainable variables are called hub/<name in the module> in checkpoints. What it has no place
    for, `packed`, `seed` and the compute dtype, is left out: it computes padding too, and in its
    own precision.
    """

    def __init__(self, config: ModuleConfig):
        super().__init__("hub")
        self.config = config
        found = find_module(config.hub_module, "hub_module")
        self._module = _Module(found.location, found.name)
        if self._module.width != config.hidden_size:
            raise InputError(
                f"{found.name}: its outputs are {self._module.width} wide, not "
                f"{config.hidden_size} as when it was trained"
            )
        self._named: dict[str, tf.Variable] = {}
        for variable in self._module.weights:
            name = f"{self.scope}/{variable.name.removesuffix(':0')}"
            # A module may have two variables of one name; in a checkpoint names are keys.
            while name in self._named:
                name += "_"
            self._named[name] = variable

    def named(self) -> dict[str, tf.Variable]:
        return dict(self._named)

    def without_gradient(self, layer: int | None) -> set[str]:
        """As BertEncoder's: the variables with a zero gradient on a small batch (a loaded graph
        never gives None).
        """
        batch = {name: tf.ones([1, _PROBE_LENGTH], tf.int32) for name in INPUTS}
        with tf.GradientTape() as tape:
            outputs = self(batch)
            states = outputs["pooled_output"] if layer is None else outputs["encoder_outputs"][layer]
            # Not their sum, which normalised outputs keep whatever the variables are.
            total = tf.reduce_sum(states * tf.random.stateless_normal(states.shape, seed=(1, 2)))
        gradients = tape.gradient(total, list(self._named.values()), unconnected_gradients="zero")
        return {
            name
            for name, gradient in zip(self._named, gradients, strict=True)
            if not np.any(tf.convert_to_tensor(gradient))
        }

    def call(self, inputs, training=False, seed=None, packed=False, pooled_only=False, return_attention=False):
        """As BertEncoder's, without embedding_output and attention_probs."""
        # A Python bool: a SavedModel has one traced function for each of its values.
        outputs = self._module(encoder_inputs(inputs), bool(training))
        sequence = tf.cast(outputs["sequence_output"], tf.float32)
        states = [tf.cast(state, tf.float32) for state in outputs.get("encoder_outputs", [sequence])]
        return {
            "encoder_outputs": states,
            "sequence_output": sequence,
            "first_output": sequence[:, 0],
            "pooled_output": tf.cast(outputs["pooled_output"], tf.float32),
        }
