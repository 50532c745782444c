"""An encoder as a module for tensorflow-hub, for bert-export and bert-convert. Imports TensorFlow."""

import contextlib
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tensorflow as tf

from bert_cli.base import files, spec
from bert_cli.base.errors import InputError, explain_write_error
from bert_cli.base.names import CONFIG, TOKENIZER_CONFIG, VOCABULARY
from bert_cli.base.writing import write_json
from bert_cli.heads.model import tensor_specs
from bert_cli.model.config import BertConfig
from bert_cli.model.config_files import write_config
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.text.tokenizer_settings import LOWER_CASE

_EXTRAS = "assets.extra"  # the place that SavedModel keeps for others' files


@contextlib.contextmanager
def reported_writing(path: str) -> Iterator[None]:
    """Turn what goes wrong with files into an InputError."""
    try:
        yield
    # Python writes our files, TensorFlow its own; each has its own exceptions.
    except (OSError, tf.errors.OpError) as error:
        raise InputError(f"{path}: cannot be written: {explain_write_error(error, path)}") from None


def write_saved_model(path: str, module: tf.train.Checkpoint, signatures: Callable | dict[str, Callable]) -> None:
    """Write a module and its signatures as a SavedModel into the folder `path`."""
    # TensorFlow traces functions that it writes itself, with AutoGraph. Since Python 3.13 its syntax trees get a
    # DeprecationWarning. In a program that turns warnings into errors, AutoGraph gives up, with five log lines a function.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r".*'___pyct_anno'", DeprecationWarning)
        tf.saved_model.save(module, path, signatures)


def save_encoder(
    path: str,
    model: BertEncoder,
    config: BertConfig,
    vocab: bytes | None,
    tokenizer: Mapping[str, Any],
) -> None:
    """Write an encoder with the interface of the published bert_en_uncased_L-12_H-768_A-12 into the
    folder `path`.

    Call it with a dict of `input_word_ids`, `input_mask`, `input_type_ids`, int32 [B, S], and
    `training` (dropout). It returns a dict: `pooled_output` and `default` [B, H], `sequence_output`
    [B, S, H], `encoder_outputs`, a list of them. `variables` and `trainable_variables` are
    restored, under Google's names also in the dict `weights`. `vocab_file`, an asset with the bytes
    `vocab` (left out for None), and `do_lower_case`, a boolean variable, are there as in the
    published ones; what our commands need more, to train the encoder further, is in assets.extra.
    `tokenizer`: casing and settings, as values of a tokenizer_config.json.
    """
    module = tf.train.Checkpoint()
    weights = named_weights(model)
    module.weights = {name: variable.value for name, variable in weights.items()}
    # tensorflow-hub reads these lists by name from whatever it loads.
    module.variables = list(module.weights.values())
    module.trainable_variables = list(module.weights.values())
    module.regularization_losses = []
    module.do_lower_case = tf.Variable(tokenizer[LOWER_CASE], trainable=False, name="do_lower_case")

    @tf.function(autograph=False)
    def encode(inputs, training=False):
        outputs = model(inputs, training=training)
        return {
            "default": outputs["pooled_output"],
            "pooled_output": outputs["pooled_output"],
            "sequence_output": outputs["sequence_output"],
            "encoder_outputs": outputs["encoder_outputs"],
        }

    # Both are traced now: a SavedModel holds only what was traced, and KerasLayer calls either.
    for training in (False, True):
        encode.get_concrete_function(tensor_specs(spec.ENCODER), training=training)
    module.__call__ = encode

    # A signature has tensors only, so the list encoder_outputs is left out.
    @tf.function(autograph=False)
    def serve(**inputs):
        outputs = encode(inputs, training=False)
        return {name: outputs[name] for name in ("default", "pooled_output", "sequence_output")}

    # An asset is a file that is copied while the module is saved.
    with tempfile.TemporaryDirectory(prefix="bert-vocab-") as folder:
        if vocab is not None:
            vocab_file = os.path.join(folder, VOCABULARY)
            with open(vocab_file, "wb") as file:
                file.write(vocab)
            module.vocab_file = tf.saved_model.Asset(vocab_file)
        write_saved_model(path, module, serve.get_concrete_function(**tensor_specs(spec.ENCODER)))
    # After saving, which makes the folder; SavedModel leaves assets.extra alone.
    write_extras(path, tokenizer)
    write_config(os.path.join(path, _EXTRAS, CONFIG), config)


def write_extras(path: str, tokenizer: Mapping[str, Any]) -> None:
    """Write a tokenizer_config.json next to a module, for readers that do not load it."""
    files.make_directory(os.path.join(path, _EXTRAS))
    write_json(os.path.join(path, _EXTRAS, TOKENIZER_CONFIG), dict(tokenizer))
