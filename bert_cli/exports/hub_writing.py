"""Writer for encoders as tensorflow-hub modules, for bert-export and bert-convert."""

import os
import tempfile
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from bert_cli.base import files, spec
from bert_cli.base.names import CONFIG, TOKENIZER_CONFIG, VOCABULARY
from bert_cli.base.writing import write_json
from bert_cli.heads.model import tensor_specs
from bert_cli.model.config import BertConfig
from bert_cli.model.config_files import write_config
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.text.tokenizer_settings import LOWER_CASE

# SavedModel reserves this directory for additional files.
_EXTRAS = "assets.extra"


# Python and TensorFlow write some of the files each.
WRITE_ERRORS = (OSError, tf.errors.OpError)


def write_saved_model(path: str, module: tf.train.Checkpoint, signatures: Callable | dict[str, Callable]) -> None:
    """Write a module as a SavedModel.

    Args:
        path: directory to write.
        module: root object.
        signatures: concrete functions, by signature name if there are several.
    """
    # TensorFlow traces its own functions with AutoGraph. Since Python 3.13, its syntax trees cause
    # a DeprecationWarning. In a program that turns warnings into errors, AutoGraph fails, and logs
    # five lines per function.
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
    """Write an encoder with the published bert_en_uncased_L-12_H-768_A-12's interface.

    The module is called with a dict of `input_word_ids`, `input_mask` and `input_type_ids`, int32
    [B, S], and with `training` (dropout). It returns a dict with `pooled_output` and `default`
    [B, H], `sequence_output` [B, S, H], and `encoder_outputs`, a list with one [B, S, H] per layer.

    Like the published module, it has `variables`, `trainable_variables`, the asset `vocab_file` and
    the boolean variable `do_lower_case`. In addition, the dict `weights` has the variables by
    Google's names, and assets.extra has the files that this package needs for further training.

    Args:
        path: directory to write.
        vocab: content of vocab.txt; None omits the asset.
        tokenizer: values for tokenizer_config.json, including the casing.
    """
    module = tf.train.Checkpoint()
    weights = named_weights(model)
    module.weights = {name: variable.value for name, variable in weights.items()}
    # tensorflow-hub expects these three attributes.
    module.variables = list(module.weights.values())
    module.trainable_variables = list(module.weights.values())
    module.regularization_losses = []
    module.do_lower_case = tf.Variable(tokenizer[LOWER_CASE], trainable=False, name="do_lower_case")

    @tf.function(autograph=False)
    def encode(inputs: dict[str, tf.Tensor], training: bool = False) -> dict[str, Any]:
        outputs = model(inputs, training=training)
        return {
            "default": outputs["pooled_output"],
            "pooled_output": outputs["pooled_output"],
            "sequence_output": outputs["sequence_output"],
            "encoder_outputs": outputs["encoder_outputs"],
        }

    # Trace both: a SavedModel contains only traced functions, and KerasLayer may call either.
    for training in (False, True):
        encode.get_concrete_function(tensor_specs(spec.ENCODER), training=training)
    module.__call__ = encode

    # Leave out the list encoder_outputs: a signature returns only tensors.
    @tf.function(autograph=False)
    def serve(**inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        outputs = encode(inputs, training=False)
        return {name: outputs[name] for name in ("default", "pooled_output", "sequence_output")}

    # Use a temporary file, which is copied as an asset when the module is saved.
    with tempfile.TemporaryDirectory(prefix="bert-vocab-") as folder:
        if vocab is not None:
            vocab_file = os.path.join(folder, VOCABULARY)
            with open(vocab_file, "wb") as file:
                file.write(vocab)
            module.vocab_file = tf.saved_model.Asset(vocab_file)
        write_saved_model(path, module, serve.get_concrete_function(**tensor_specs(spec.ENCODER)))
    # Write these after saving, which creates the directory.
    write_extras(path, tokenizer)
    write_config(os.path.join(path, _EXTRAS, CONFIG), config)


def write_extras(path: str, tokenizer: Mapping[str, Any]) -> None:
    """Write tokenizer_config.json into a module's directory, for readers that do not load it.

    Args:
        path: the module's directory.
        tokenizer: values to write.
    """
    files.make_directory(os.path.join(path, _EXTRAS))
    write_json(os.path.join(path, _EXTRAS, TOKENIZER_CONFIG), dict(tokenizer))
