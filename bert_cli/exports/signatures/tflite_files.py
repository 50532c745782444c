"""Writer for TensorFlow Lite files, which read token ids, and their companions."""

import os
import tempfile

import tensorflow as tf

from bert_cli.base import files, spec
from bert_cli.base.formats import byte_size
from bert_cli.base.log import LOG
from bert_cli.base.writing import atomic_write
from bert_cli.exports.exported import TFLITE, ModelToExport
from bert_cli.exports.hub_writing import write_saved_model
from bert_cli.exports.signatures.network import check_difference, open_network_to_export
from bert_cli.exports.signatures.onnx_files import write_companions
from bert_cli.heads.model import tensor_specs
from bert_cli.model.layers import named_weights


def write_tflite_files(folder: str, exported: ModelToExport) -> list[str]:
    """Write all files, and return their names.

    The file has the inputs and outputs that the ONNX file has under Google's names, and uses only
    TensorFlow Lite's built-in operations.

    Args:
        folder: existing directory.
        exported: the model.

    Raises:
        InputError: if the checkpoint is incomplete, or the file's outputs differ from the original's.
    """
    network = open_network_to_export(exported)

    def serve(**inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        return network.outputs(inputs)

    module = tf.train.Checkpoint()
    models = [member.loaded.model for member in network.members]
    module.variables = [variable.value for model in models for variable in named_weights(model).values()]
    module.serve = tf.function(serve, autograph=False)
    with tempfile.TemporaryDirectory(prefix="bert-tflite-") as temporary:
        write_saved_model(temporary, module, module.serve.get_concrete_function(**tensor_specs(spec.ENCODER)))
        converter = tf.lite.TFLiteConverter.from_saved_model(temporary, signature_keys=["serving_default"])
        content = converter.convert()
    run = tf.lite.Interpreter(model_content=content).get_signature_runner("serving_default")
    difference = network.difference(run(**network.random_batch))
    check_difference(difference)
    with atomic_write(os.path.join(folder, TFLITE), "wb") as file:
        file.write(content)
    size = byte_size(len(content), MB=1)
    LOG.info("%s: %s, %s; largest difference to the original %.2g", TFLITE, network.spec.head_type, size, difference)
    write_companions(folder, exported, network.spec, network.labels)
    return files.list_directory(folder)
