"""bert-export --format=onnx: a model of token ids as an ONNX file, with the files that a program around it needs."""

import json
import logging
import os

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.formats import byte_size
from bert_cli.base.head_types import CLASSIFIER, TAGGER
from bert_cli.base.names import CONFIG, LABELS, TOKENIZER_CONFIG, VOCABULARY
from bert_cli.base.writing import atomic_write, write_json, write_lines
from bert_cli.examples.classification import read_examples
from bert_cli.exports.exported import Exported
from bert_cli.features.classification import ClassificationFeatures, classification_features
from bert_cli.model.config_file import write_config
from bert_cli.runtime.tensorflow_setup import setup_tensorflow

LOG = logging.getLogger("bert_cli")
MODEL, QUANTIZED = "model.onnx", "model_int8.onnx"
# What an export leaves in its folder.
FILES = {MODEL, QUANTIZED, VOCABULARY, LABELS, CONFIG, TOKENIZER_CONFIG}


def read_dev(exported: Exported, labels: tuple[str, ...], data_dir: str) -> ClassificationFeatures | None:
    """The dev file of a classifier's task, to compare accuracies on; None where --data_dir is not given and the training
    run's is gone.
    """
    model, saved = exported.model, exported.model.saved_flags
    if "task_name" not in saved and not data_dir:
        return None
    folder = data_dir or saved.get("data_dir", "")
    if not data_dir and not files.is_directory(folder):
        LOG.warning(
            "warning: %s, the data of the training run, is gone: accuracies are not compared; give --data_dir", folder
        )
        return None
    task = saved.get("task_name", "cola")
    examples = read_examples(task, "dev", folder, saved.get("header", "auto"), labels, saved.get("language", "zh"))
    return classification_features(examples, labels, model.tokenizer, exported.max_seq_length)


def write(folder: str, exported: Exported, quantize: bool, data_dir: str) -> list[str]:
    """Write all files into the folder `folder`, which exists; returns their names.

    InputError where the checkpoint is not whole, or the ONNX model gives other outputs than the original.
    """
    source, config = exported.model, exported.model.config
    dev = None
    if quantize and source.classifier_kind != TAGGER and exported.labels and exported.problem_type.is_exclusive:
        dev = read_dev(exported, exported.labels, data_dir)
    setup_tensorflow()
    from bert_cli.exports import onnx as onnx_export
    from bert_cli.weights.checkpoint import open_checkpoint

    reader = open_checkpoint(source.required_checkpoint)
    kind = onnx_export.find_kind(reader, source.classifier_kind == TAGGER)
    loaded = onnx_export.load(reader, config, kind, source.layers, exported.problem_type, source.head_input)
    labels = exported.labels if kind in (CLASSIFIER, TAGGER) else None
    if labels and len(labels) != len(loaded.tensors["output_bias"]):
        count = len(loaded.tensors["output_bias"])
        raise InputError(
            f"{reader.description}: has {count} outputs, but there are {len(labels)} labels; check --labels"
        )
    metadata = {"kind": kind, "do_lower_case": str(source.do_lower_case).lower()}
    metadata |= {"max_seq_length": str(exported.max_seq_length)}
    metadata |= {"problem_type": exported.problem_type.name} if kind == CLASSIFIER else {}
    metadata |= {"labels": json.dumps(labels, ensure_ascii=False)} if labels else {}
    path = os.path.join(folder, MODEL)
    difference = onnx_export.write(path, loaded, config, metadata)
    LOG.info("%s: %s, %s; largest difference to the original %.2g", MODEL, kind, _size(path), difference)
    if quantize:
        small = os.path.join(folder, QUANTIZED)
        onnx_export.quantize(path, small)
        gap = onnx_export.largest_difference(small, loaded, config, 0)
        LOG.info("%s: int8, %s; largest difference to the original %.2g", QUANTIZED, _size(small), gap)
        if dev is not None and kind == CLASSIFIER:
            before, after = (onnx_export.accuracy(each, dev.sequences, dev.label_ids) for each in (path, small))
            LOG.info("accuracy on %d dev examples: %.4f before, %.4f after quantization", len(dev), before, after)
    _write_sidecars(folder, exported, labels)
    return files.list_directory(folder)


def _size(path: str) -> str:
    return byte_size(os.path.getsize(path), MB=1)


def _write_sidecars(folder: str, exported: Exported, labels: tuple[str, ...] | None) -> None:
    model = exported.model
    write_config(os.path.join(folder, CONFIG), model.config)
    with atomic_write(os.path.join(folder, VOCABULARY), "wb") as file:
        file.write(model.vocab_bytes)
    write_json(os.path.join(folder, TOKENIZER_CONFIG), {"do_lower_case": model.do_lower_case})
    if labels:
        write_lines(os.path.join(folder, LABELS), labels)
