"""bert-export --format=onnx: a model of token ids as an ONNX file, with the files that a program around it needs."""

import json
import logging
import os
from typing import TYPE_CHECKING

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.formats import byte_size
from bert_cli.base.head_types import CLASSIFIER, TAGGER
from bert_cli.base.names import CONFIG, LABELS, TOKENIZER_CONFIG, VOCABULARY
from bert_cli.base.writing import atomic_write, write_json, write_lines
from bert_cli.examples.classification import read_examples
from bert_cli.exports.exported import Exported
from bert_cli.features.classification import ClassificationFeatures, classification_features
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.stream import length_groups
from bert_cli.model.config import BertConfig, write_config
from bert_cli.onnx.session import make_runner
from bert_cli.runs.loading.bundle import ModelBundle
from bert_cli.runtime.tensorflow_setup import setup_tensorflow

if TYPE_CHECKING:
    from bert_cli.exports.head_model import HeadModel
    from bert_cli.onnx.bert import Bert

LOG = logging.getLogger("bert_cli")
_MAX_DIFFERENCE = 1e-4
_BATCH_TOKENS = 4096
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
    source, problem_type, dev = exported.model, exported.problem_type, None
    if quantize and source.classifier_kind != TAGGER and exported.labels and problem_type.is_exclusive:
        dev = read_dev(exported, exported.labels, data_dir)
    setup_tensorflow()
    from bert_cli.exports.head_model import load_for_onnx
    from bert_cli.onnx.int8 import PaddedInt8Bert
    from bert_cli.weights.checkpoint import open_checkpoint

    reader = open_checkpoint(source.required_checkpoint)
    original = load_for_onnx(reader, source, problem_type)
    spec = original.spec
    labels = exported.labels if spec.kind in (CLASSIFIER, TAGGER) else None
    if labels and len(labels) != spec.count:
        raise InputError(
            f"{reader.description}: has {spec.count} outputs, but there are {len(labels)} labels; check --labels"
        )
    writer = _Writer(exported, original, labels)
    path = os.path.join(folder, MODEL)
    difference = writer.write(path)
    if not difference <= _MAX_DIFFERENCE:
        raise InputError(
            f"the exported model gives other outputs than the original (by {difference:.3g}); nothing was written"
        )
    LOG.info("%s: %s, %s; largest difference to the original %.2g", MODEL, spec.kind, _size(path), difference)
    if quantize:
        small = os.path.join(folder, QUANTIZED)
        gap = writer.write(small, PaddedInt8Bert)
        LOG.info("%s: int8, %s; largest difference to the original %.2g", QUANTIZED, _size(small), gap)
        if dev is not None and spec.is_of_texts:
            before, after = (accuracy(each, dev.sequences, dev.label_ids) for each in (path, small))
            LOG.info("accuracy on %d dev examples: %.4f before, %.4f after quantization", len(dev), before, after)
    _write_sidecars(folder, source, labels)
    return files.list_directory(folder)


class _Writer:
    """Writes ONNX files of one model, and compares each with the original on random token ids."""

    def __init__(self, exported: Exported, original: "HeadModel", labels: tuple[str, ...] | None):
        from bert_cli.exports.conversion import random_inputs

        spec, config = original.spec, exported.model.config
        self._original, self._config = original, config
        self._metadata = {"kind": spec.kind, "do_lower_case": str(exported.model.do_lower_case).lower()}
        self._metadata |= {"max_seq_length": str(exported.max_seq_length)}
        self._metadata |= {"problem_type": exported.problem_type.name} if spec.is_of_texts else {}
        self._metadata |= {"labels": json.dumps(labels, ensure_ascii=False)} if labels else {}
        # Random ids show a wrong graph as well as texts do, and an encoder alone may have no data.
        self._inputs = random_inputs(config.vocab_size, config.max_position_embeddings, config.type_vocab_size, 0)
        self._expected = original.outputs(self._inputs)

    def write(self, path: str, network: "type[Bert] | None" = None) -> float:
        """Write a file; returns the largest difference. network: see onnx.export.build."""
        import onnx

        from bert_cli.onnx import export
        from bert_cli.onnx.bert import Bert

        original = self._original
        onnx.save(export.build(original.tensors, self._config, original.spec, self._metadata, network or Bert), path)
        return export.largest_difference(path, self._inputs, self._expected)


def accuracy(path: str, sequences: RaggedFeatures, label_ids: np.ndarray) -> float:
    """Fraction of the sequences to which the ONNX classifier gives its label."""
    run, right = make_runner(path), 0
    for rows in length_groups(sequences.lengths, _BATCH_TOKENS):
        width = int(sequences.lengths[rows].max())
        best = run(sequences.padded(rows, width))["probabilities"].argmax(axis=1)
        right += int((best == label_ids[rows]).sum())
    return right / len(label_ids)


def _size(path: str) -> str:
    return byte_size(os.path.getsize(path), MB=1)


def _write_sidecars(folder: str, model: ModelBundle[BertConfig], labels: tuple[str, ...] | None) -> None:
    write_config(os.path.join(folder, CONFIG), model.config)
    with atomic_write(os.path.join(folder, VOCABULARY), "wb") as file:
        file.write(model.vocab_bytes)
    write_json(os.path.join(folder, TOKENIZER_CONFIG), {"do_lower_case": model.do_lower_case})
    if labels:
        write_lines(os.path.join(folder, LABELS), labels)
