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
from bert_cli.base.head_types import CLASSIFIER, POOLER, TAGGER, HeadSpec
from bert_cli.base.log import LOG
from bert_cli.base.names import CALIBRATION, CONFIG, LABELS, TOKENIZER_CONFIG, VOCABULARY
from bert_cli.base.writing import atomic_write, write_json, write_lines
from bert_cli.exports.exported import MODEL, QUANTIZED, Exported
from bert_cli.exports.hugging_face_files import write_model_config, write_tokenizer_files
from bert_cli.exports.loaded import expected_outputs, find_head, load_head_model, random_inputs
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.row_batches import length_groups
from bert_cli.model.config_files import write_config
from bert_cli.onnx.bert import Bert
from bert_cli.onnx.exported import build, hugging_face_inputs
from bert_cli.onnx.int8 import PaddedInt8Bert
from bert_cli.onnx.session import Runner, make_runner
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.hugging_face import generic_labels

# onnxruntime fuses operators, so sums are taken in another order.
_MAX_DIFFERENCE = 1e-4
# In a batch on which accuracies are computed.
_BATCH_TOKENS = 4096


def write(
    folder: str, exported: Exported, quantize: bool, dev: ClassificationFeatures | None, is_hugging_face: bool = False
) -> list[str]:
    """Write all files of an export, and return their names.

    Args:
        folder: the directory, which exists.
        exported: the model.
        quantize: whether to write the int8 model, too.
        dev: rows to compare accuracies on, see exported.read_dev; None for no comparison.
        is_hugging_face: whether names and files are Hugging Face's, see onnx.exported.build.

    Raises:
        InputError: the checkpoint is not whole, or the ONNX model gives other outputs than the
            original.
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
    labels = _check_labels(exported, spec, reader.description)
    metadata = _metadata(exported, spec, labels)
    # Random ids show a wrong graph as well as texts do, and an encoder alone may have no data.
    # Both types, also of a model with one: its second texts have no token type.
    types = 2 if config.type_vocab_size == 1 else config.type_vocab_size
    inputs = random_inputs(config.vocab_size, config.max_position_embeddings, types, 0)
    expected = expected_outputs(original.model, spec.head_type, problem_type, inputs, is_hugging_face)

    def write_model(path: str, network: type[Bert]) -> float:
        """Returns the largest difference to the original."""
        onnx.save(build(original.tensors, config, spec, metadata, network, is_hugging_face), path)
        outputs = _run(path)(inputs)
        return max(float(np.abs(values - expected[name]).max()) for name, values in outputs.items())

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
    if is_hugging_face:
        # transformers has names for all outputs, and its pipelines expect them.
        names = labels or (generic_labels(spec.num_outputs) if spec.head_type in (CLASSIFIER, TAGGER) else None)
        write_model_config(folder, config, source, spec.head_type, names, problem_type)
        # Other programs then cut texts at the same token.
        write_tokenizer_files(folder, source, config, exported.max_seq_length)
    else:
        write_config(os.path.join(folder, CONFIG), config)
        with atomic_write(os.path.join(folder, VOCABULARY), "wb") as file:
            file.write(source.vocab_bytes)
        write_json(os.path.join(folder, TOKENIZER_CONFIG), source.tokenizer_values)
        if labels:
            write_lines(os.path.join(folder, LABELS), labels)
    return files.list_directory(folder)


def _check_labels(exported: Exported, spec: HeadSpec, source: str) -> tuple[str, ...] | None:
    """Return the labels of the head, None if it has none. Raise InputError for another number of outputs."""
    labels = exported.labels if spec.head_type in (CLASSIFIER, TAGGER) else None
    # Known only now: the number of outputs is a shape in the checkpoint.
    if labels and len(labels) != spec.num_outputs:
        raise InputError(
            f"{source}: has {spec.num_outputs} outputs, but there are {len(labels)} labels; check --labels"
        )
    return labels


def _metadata(exported: Exported, spec: HeadSpec, labels: tuple[str, ...] | None) -> dict[str, str]:
    """Return entries for metadata_props, which takes texts alone."""
    metadata = {"kind": spec.head_type, "do_lower_case": str(exported.model.do_lower_case).lower()}
    metadata |= {"max_seq_length": str(exported.max_seq_length)}
    metadata |= {"problem_type": exported.problem_type.name} if spec.is_text_classifier else {}
    return metadata | ({"labels": json.dumps(labels, ensure_ascii=False)} if labels else {})


def _run(path: str) -> Runner:
    """Return a runner of an exported file that takes batches of spec.INPUTS, whatever its names are."""
    run = make_runner(path)
    return lambda batch: run(batch | hugging_face_inputs(batch))


def accuracy(path: str, dev: ClassificationFeatures) -> float:
    """Return the fraction of the examples to which the ONNX classifier gives their label."""
    run = _run(path)
    right = 0
    lengths = dev.sequences.lengths
    for rows in length_groups(lengths, _BATCH_TOKENS):
        # Temperatures do not change the order of a text's probabilities, so logits do as well.
        (scores,) = run(dev.sequences.padded(rows, int(lengths[rows].max()))).values()
        right += int((scores.argmax(axis=1) == dev.label_ids[rows]).sum())
    return right / len(dev)


def _size(path: str) -> str:
    return byte_size(os.path.getsize(path), MB=1)
