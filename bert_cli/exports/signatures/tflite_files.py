"""Writer for TensorFlow Lite files, which read token ids, and their companions."""

import os
import tempfile

import numpy as np
import tensorflow as tf

from bert_cli.base import files, spec
from bert_cli.base.errors import InputError
from bert_cli.base.formats import byte_size
from bert_cli.base.log import LOG
from bert_cli.base.writing import atomic_write
from bert_cli.exports.exported import TFLITE, Exported
from bert_cli.exports.hub_writing import write_saved_model
from bert_cli.exports.loaded import expected_outputs, head_outputs
from bert_cli.exports.onnx_files import MAX_DIFFERENCE, open_network_to_export, write_companions
from bert_cli.heads.model import tensor_specs
from bert_cli.model.layers import named_weights


def write_tflite_files(folder: str, exported: Exported) -> list[str]:
    """Write all files of an export, and return their names.

    The file has the inputs and outputs that the ONNX file has under Google's names, and uses only
    TensorFlow Lite's built-in operations.

    Args:
        folder: existing directory.
        exported: the model.

    Raises:
        InputError: if the checkpoint is incomplete, or the file's outputs differ from the original's.
    """
    network = open_network_to_export(exported)
    model, head, problem_type = network.original.model, network.spec, exported.problem_type
    vectors = exported.vectors

    def serve(**inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        outputs = head_outputs(model, head.head_type, problem_type, inputs, vectors=vectors)
        # Without a pooler in the checkpoint, its weights are random.
        return {name: x for name, x in outputs.items() if name != "pooled_output" or network.original.has_pooler}

    module = tf.train.Checkpoint()
    module.variables = [variable.value for variable in named_weights(model).values()]
    module.serve = tf.function(serve, autograph=False)
    with tempfile.TemporaryDirectory(prefix="bert-tflite-") as temporary:
        write_saved_model(temporary, module, module.serve.get_concrete_function(**tensor_specs(spec.ENCODER)))
        converter = tf.lite.TFLiteConverter.from_saved_model(temporary, signature_keys=["serving_default"])
        content = converter.convert()
    outputs = tf.lite.Interpreter(model_content=content).get_signature_runner("serving_default")(**network.inputs)
    expected = expected_outputs(model, head.head_type, problem_type, network.inputs, vectors=vectors)
    difference = max(float(np.abs(values - expected[name]).max()) for name, values in outputs.items())
    # Negate the comparison, so that NaN counts as different.
    if not difference <= MAX_DIFFERENCE:
        raise InputError(
            f"the exported model gives other outputs than the original (by {difference:.3g}); nothing was written"
        )
    with atomic_write(os.path.join(folder, TFLITE), "wb") as file:
        file.write(content)
    size = byte_size(len(content), MB=1)
    LOG.info("%s: %s, %s; largest difference to the original %.2g", TFLITE, head.head_type, size, difference)
    write_companions(folder, exported, head, network.labels)
    return files.list_directory(folder)
