"""Export a model for TensorFlow Serving, tensorflow-hub or ONNX, for use without this package.

--format=saved_model exports a SavedModel that takes raw text; the vocabulary is one of its
assets. A classifier returns label names and probabilities, and a tagger returns words with their
tags and offsets. A pre-trained model returns words for each [MASK]. An encoder, or any model with
--pooling, returns one vector per text.

--format=hub writes EXPORT_DIR/encoder and EXPORT_DIR/preprocess, with the interfaces of the
published BERT modules. Import tensorflow_text before you load a model that takes text; TensorFlow
Serving has its operations built in.

--format=onnx writes EXPORT_DIR/model.onnx, which takes token ids: a classifier, a tagger, a
question-answering model, or an encoder, with vectors of texts if it has pooling. With
--names=hugging_face, its inputs, outputs and files are those that Optimum and transformers.js
expect. --format=tflite writes EXPORT_DIR/model.tflite with the same inputs and outputs.

Examples:

    bert-classify --do_train --train_file=data/reviews.csv \\
      --output_dir=bert_output/reviews
    bert-export --format=saved_model --init_checkpoint=bert_output/reviews \\
      --export_dir=bert_output/serving/1
    bert-export --format=hub --init_checkpoint=bert_output/reviews \\
      --export_dir=bert_output/modules
"""

import os

from bert_cli.base import files
from bert_cli.base.log import LOG
from bert_cli.exports.ensembles import find_models
from bert_cli.exports.exported import check_target, exporting, read_dev
from bert_cli.exports.triton import TRITON_CONFIG, VERSION, model_path, write_triton_config
from bert_cli.flags.command import Command
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.settings.tools import ExportSettings


def run(settings: ExportSettings) -> list[str]:
    """Export the model, and return the directories with its SavedModels or its ONNX model."""
    export = settings.export
    folder = (
        export.export_dir.rstrip("/") if files.is_remote(export.export_dir) else files.make_absolute(export.export_dir)
    )
    check_target(folder, settings.export.overwrite)
    exported = find_models(settings)
    if export.format == "onnx":
        with exporting(folder) as staging_path:
            model_folder = os.path.dirname(model_path(staging_path, export.format)) if export.triton else staging_path
            files.make_directory(model_folder)
            quantizes = export.quantize == "int8"
            # Read the data before importing TensorFlow (seconds): it may be missing or damaged.
            dev_data = read_dev(exported, settings.data.data_dir) if quantizes else None
            setup_tensorflow()
            from bert_cli.exports.signatures import onnx_files

            is_hugging_face = export.names == "hugging_face"
            names, inputs, outputs = onnx_files.write_onnx_files(
                model_folder, exported, quantizes, dev_data, is_hugging_face
            )
            if export.triton:
                write_triton_config(staging_path, export.format, inputs, outputs)
                names = [TRITON_CONFIG, *(os.path.join(VERSION, name) for name in names)]
        LOG.info("wrote %s: %s", folder, ", ".join(names))
        return [folder]

    setup_tensorflow()
    if export.format == "tflite":
        from bert_cli.exports.signatures import tflite_files

        with exporting(folder) as staging_path:
            files.make_directory(staging_path)
            names = tflite_files.write_tflite_files(staging_path, exported)
        LOG.info("wrote %s: %s", folder, ", ".join(names))
        return [folder]
    from bert_cli.exports.signatures.saved_models import export_saved_models

    return export_saved_models(folder, exported, is_hub=export.format == "hub", is_for_triton=export.triton)


main = Command("bert-export", __doc__, ExportSettings, run, interrupted="nothing was exported")


if __name__ == "__main__":
    raise SystemExit(main())
