"""Export a model for TensorFlow Serving, tensorflow-hub or ONNX, for use without this package.

--format=saved_model exports a SavedModel that takes raw text; the vocabulary is one of its
assets. A classifier returns label names and probabilities, and a tagger returns words with their
tags and offsets. A model of bert-squad returns answers with their offsets, a pre-trained model words
for each [MASK]. An encoder, or any model with --pooling, returns one vector per text.

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

import contextlib
import os
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.head_types import ENCODER
from bert_cli.base.log import LOG
from bert_cli.exports.ensembles import find_models
from bert_cli.exports.exported import ModelToExport, check_target, exporting, read_text_sequences
from bert_cli.exports.triton import TRITON_CONFIG, VERSION, model_path, write_triton_config
from bert_cli.flags.command import Command
from bert_cli.opening.trained import command_of, load_with_settings
from bert_cli.runs.int8_comparison import Int8Comparison
from bert_cli.runs.tasks.classification.task import ClassificationTask
from bert_cli.runs.tasks.interface import Task
from bert_cli.runs.tasks.squad import SquadTask
from bert_cli.runs.tasks.tagging import TaggingTask
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.squad import SquadSettings
from bert_cli.settings.tagging import TagSettings
from bert_cli.settings.tools import ExportSettings

_TASKS: dict[str, tuple[type[Task[Any, Any, Any]], type]] = {
    ClassificationTask.command: (ClassificationTask, ClassifySettings),
    TaggingTask.command: (TaggingTask, TagSettings),
    SquadTask.command: (SquadTask, SquadSettings),
}


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
            is_hugging_face = export.names == "hugging_face"
            with contextlib.ExitStack() as stack:
                # Read the data before importing TensorFlow (seconds): it may be missing or damaged.
                comparison = _open_comparison(settings, exported, stack) if export.quantize == "int8" else None
                sequences = (
                    comparison.sequences if comparison else read_text_sequences(exported, settings.data.dev_file)
                )
                setup_tensorflow()
                from bert_cli.exports.signatures import onnx_files

                names, inputs, outputs = onnx_files.write_onnx_files(
                    model_folder, exported, export.quantize == "int8", sequences, is_hugging_face
                )
                # The metric of one member would not be the ensemble's.
                if comparison and not exported.members:
                    comparison.log_metric()
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


def _open_comparison(
    settings: ExportSettings, exported: ModelToExport, stack: contextlib.ExitStack
) -> Int8Comparison[Any, Any, Any] | None:
    """Return the comparison of int8 on the dev data, or None for an encoder.

    If there is no such data, a warning has the reason.

    Raises:
        InputError: if flags name wrong data.
    """
    if exported.head_type == ENCODER:
        return None
    data, checkpoint = settings.data, exported.model.required_checkpoint
    command = command_of(checkpoint) or ClassificationTask.command
    task_type, settings_class = _TASKS[command]
    model = settings.model
    values: dict[str, Any] = {"vocab_file": model.vocab_file, "bert_config_file": model.bert_config_file}
    values |= {"do_lower_case": model.do_lower_case, "strict": model.strict}
    values |= {"gelu": model.gelu} if model.gelu != "auto" else {}
    values |= {"do_eval": True, "output_dir": checkpoint.folder, "max_seq_length": exported.max_seq_length}
    values |= {"labels": data.labels} if data.labels and command == ClassificationTask.command else {}
    dev_flag = "predict_file" if command == SquadTask.command else "dev_file"
    if data.dev_file:
        values[dev_flag] = data.dev_file
    elif data.data_dir:
        values |= {"data_dir": data.data_dir, "dev_file": ""}
    elif command == SquadTask.command:  # its flags.txt has the file, which later runs do not remember
        values[dev_flag] = exported.model.saved_flags.get(dev_flag)
    try:
        refuse_if(dev_flag == "predict_file" and not values[dev_flag], "its training evaluated no file")
        run_settings, _ = load_with_settings(checkpoint, settings_class, values)
        return Int8Comparison(task_type(run_settings), checkpoint, stack)
    except InputError as error:
        if data.dev_file or data.data_dir:
            raise
        LOG.warning("warning: int8 is not compared with float32 on your data: %s; give --dev_file", error)
        return None


main = Command("bert-export", __doc__, ExportSettings, run, interrupted="nothing was exported")


if __name__ == "__main__":
    raise SystemExit(main())
