"""bert-export --format=onnx: a model of token ids as an ONNX file, with the files that a program
around it needs.

Imports TensorFlow, which computes what the file should give.
"""

import dataclasses
import json
import os

import numpy as np
import onnx

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.formats import byte_size
from bert_cli.base.head_types import CLASSIFIER, POOLER, TAGGER
from bert_cli.base.log import LOG
from bert_cli.base.names import CALIBRATION, CONFIG, LABELS, TOKENIZER_CONFIG, VOCABULARY
from bert_cli.base.writing import atomic_write, write_json, write_lines
from bert_cli.exports.exported import MODEL, QUANTIZED, Exported
from bert_cli.exports.loaded import expected_outputs, find_head, load_head_model, random_inputs
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.row_batches import length_groups
from bert_cli.model.config_files import write_config
from bert_cli.onnx.bert import Bert
from bert_cli.onnx.exported import build
from bert_cli.onnx.int8 import PaddedInt8Bert
from bert_cli.onnx.session import make_runner
from bert_cli.weights.checkpoint import open_checkpoint

# onnxruntime fuses operators, so sums are taken in another order.
_MAX_DIFFERENCE = 1e-4
# In a batch on which accuracies are computed.
_BATCH_TOKENS = 4096


def write(folder: str, exported: Exported, quantize: bool, dev: ClassificationFeatures | None) -> list[str]:
    """Write all files into the folder `folder`, which exists; returns their names.

    dev: rows to compare accuracies on, see exported.read_dev. InputError where the checkpoint is
    not whole, or the ONNX model gives other outputs than the original.
    """
    source = exported.model
    config = exported.model.config
    problem_type = exported.problem_type
    reader = open_checkpoint(source.required_checkpoint)
    spec = find_head(reader, source, problem_type)
    if spec.is_text_classifier and exported.temperatures:
        spec = dataclasses.replace(spec, temperatures=exported.temperatures)
        LOG.info("probabilities are calibrated: %s", CALIBRATION)
    # Only a classifier of texts reads the pooler, which Hugging Face drops from other models.
    original = load_head_model(reader, config, spec, problem_type, () if spec.is_text_classifier else POOLER)
    labels = exported.labels if spec.head_type in (CLASSIFIER, TAGGER) else None
    # Known only now: the number of outputs is a shape in the checkpoint.
    if labels and len(labels) != spec.num_outputs:
        raise InputError(
            f"{reader.description}: has {spec.num_outputs} outputs, but there are {len(labels)} labels; check --labels"
        )
    # Texts, as metadata_props holds nothing else.
    metadata = {"kind": spec.head_type, "do_lower_case": str(source.do_lower_case).lower()}
    metadata |= {"max_seq_length": str(exported.max_seq_length)}
    metadata |= {"problem_type": problem_type.name} if spec.is_text_classifier else {}
    metadata |= {"labels": json.dumps(labels, ensure_ascii=False)} if labels else {}
    # Random ids show a wrong graph as well as texts do, and an encoder alone may have no data.
    # Both types, also of a model with one: its second texts have no token type.
    types = 2 if config.type_vocab_size == 1 else config.type_vocab_size
    inputs = random_inputs(config.vocab_size, config.max_position_embeddings, types, 0)
    expected = expected_outputs(original.model, spec.head_type, problem_type, inputs)

    def write_model(path: str, network: type[Bert]) -> float:
        """Returns the largest difference to the original."""
        onnx.save(build(original.tensors, config, spec, metadata, network), path)
        found = make_runner(path)(inputs)
        return max(float(np.abs(values - expected[name]).max()) for name, values in found.items())

    path, small = (os.path.join(folder, name) for name in (MODEL, QUANTIZED))
    difference = write_model(path, Bert)
    # Turned around, so that NaN counts as different.
    if not difference <= _MAX_DIFFERENCE:
        raise InputError(
            f"the exported model gives other outputs than the original (by {difference:.3g}); nothing was written"
        )
    LOG.info("%s: %s, %s; largest difference to the original %.2g", MODEL, spec.head_type, _size(path), difference)
    if quantize:
        # A difference is only reported: how much of it is too much depends on what the model is
        # for.
        gap = write_model(small, PaddedInt8Bert)
        LOG.info("%s: int8, %s; largest difference to the original %.2g", QUANTIZED, _size(small), gap)
        if dev is not None and spec.is_text_classifier:
            before, after = (accuracy(each, dev) for each in (path, small))
            LOG.info("accuracy on %d dev examples: %.4f before, %.4f after quantization", len(dev), before, after)
    write_config(os.path.join(folder, CONFIG), config)
    with atomic_write(os.path.join(folder, VOCABULARY), "wb") as file:
        file.write(source.vocab_bytes)
    write_json(os.path.join(folder, TOKENIZER_CONFIG), source.tokenizer_values)
    if labels:
        write_lines(os.path.join(folder, LABELS), labels)
    return files.list_directory(folder)


def accuracy(path: str, dev: ClassificationFeatures) -> float:
    """Fraction of the examples to which the ONNX classifier gives their label."""
    run = make_runner(path)
    right = 0
    lengths = dev.sequences.lengths
    for rows in length_groups(lengths, _BATCH_TOKENS):
        best = run(dev.sequences.padded(rows, int(lengths[rows].max())))["probabilities"].argmax(axis=1)
        right += int((best == dev.label_ids[rows]).sum())
    return right / len(dev)


def _size(path: str) -> str:
    return byte_size(os.path.getsize(path), MB=1)
