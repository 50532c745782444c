"""Writer for ONNX files and their companions; TensorFlow computes the expected outputs."""

import dataclasses
import json
import os
from typing import NamedTuple

import numpy as np
import onnx

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.formats import byte_size
from bert_cli.base.head_types import ENCODER, POOLER, HeadSpec
from bert_cli.base.log import LOG
from bert_cli.base.names import CALIBRATION, CONFIG, LABELS, TOKENIZER_CONFIG, VOCABULARY
from bert_cli.base.writing import atomic_write, write_json, write_lines
from bert_cli.exports.exported import MODEL, QUANTIZED, Exported
from bert_cli.exports.hugging_face_files import write_model_config, write_tokenizer_files
from bert_cli.exports.loaded import Loaded, expected_outputs, find_head, load_head_model, random_inputs
from bert_cli.exports.triton import Tensor
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.row_batches import length_groups
from bert_cli.model.config_files import generic_labels, write_config
from bert_cli.onnx.bert import PADDED, GraphForm
from bert_cli.onnx.exported import build_exported_graph, hugging_face_inputs
from bert_cli.onnx.int8 import PADDED_INT8
from bert_cli.onnx.runners import Runner, make_runner
from bert_cli.sentence.conversion import write_modules
from bert_cli.weights.checkpoint import open_checkpoint

# Tolerance for fused operators in onnxruntime, which sum in another order.
MAX_DIFFERENCE = 1e-4
# Tokens per batch for computing accuracy.
_BATCH_TOKENS = 4096


class NetworkToExport(NamedTuple):
    """A network to export, and a batch for comparing its outputs.

    Attributes:
        spec: its head.
        original: the loaded model.
        labels: names of its outputs, or None.
        inputs: random token ids, with the columns spec.INPUTS.
    """

    spec: HeadSpec
    original: Loaded
    labels: tuple[str, ...] | None
    inputs: dict[str, np.ndarray]


def open_network_to_export(exported: Exported) -> NetworkToExport:
    """Load the network; raise InputError if the checkpoint is incomplete."""
    source, config, problem_type = exported.model, exported.model.config, exported.problem_type
    reader = open_checkpoint(source.required_checkpoint)
    spec = HeadSpec(ENCODER) if exported.recipe else find_head(reader, source, problem_type)
    if spec.is_text_classifier and exported.temperatures:
        spec = dataclasses.replace(spec, temperatures=exported.temperatures)
        LOG.info("probabilities are calibrated: %s", CALIBRATION)
    strict = source.required_checkpoint.is_strict
    # Require the pooler only if it is read: Hugging Face's other models do not have it.
    optional = () if spec.is_text_classifier or exported.reads_pooler else POOLER
    original = load_head_model(reader, config, spec, problem_type, optional, strict)
    # Compare on random ids: an encoder has no data. Use two token types even if the model has only
    # one: its second texts then have no token type.
    num_types = 2 if config.type_vocab_size == 1 else config.type_vocab_size
    inputs = random_inputs(config.vocab_size, config.max_position_embeddings, num_types, 0)
    return NetworkToExport(spec, original, exported.check_labels(spec, reader.description), inputs)


def write_onnx_files(
    folder: str, exported: Exported, quantize: bool, dev: ClassificationFeatures | None, is_hugging_face: bool = False
) -> list[str]:
    """Write all files of an export, and return their names.

    Args:
        folder: existing directory.
        exported: the model.
        quantize: whether to write an int8 model, too.
        dev: rows for comparing accuracies, or None.
        is_hugging_face: whether names and files are Hugging Face's (see onnx.exported.build_exported_graph).

    Raises:
        InputError: if the checkpoint is incomplete, or the ONNX model's outputs differ from the
            original's.
    """
    spec, original, labels, inputs = open_network_to_export(exported)
    config, problem_type, vectors = exported.model.config, exported.problem_type, exported.vectors
    metadata = _metadata(exported, spec, labels)
    expected = expected_outputs(original.model, spec.head_type, problem_type, inputs, is_hugging_face, vectors)

    def write_model(path: str, form: GraphForm) -> float:
        """Write a model, and return the largest difference from the original's outputs."""
        onnx.save(build_exported_graph(original.tensors, config, spec, metadata, form, is_hugging_face, vectors), path)
        outputs = _run(path)(inputs)
        return max(float(np.abs(values - expected[name]).max()) for name, values in outputs.items())

    path, quantized_path = (os.path.join(folder, name) for name in (MODEL, QUANTIZED))
    difference = write_model(path, PADDED)
    # Negate the comparison, so that NaN counts as different.
    if not difference <= MAX_DIFFERENCE:
        raise InputError(
            f"the exported model gives other outputs than the original (by {difference:.3g}); nothing was written"
        )
    LOG.info("%s: %s, %s; largest difference to the original %.2g", MODEL, spec.head_type, _size(path), difference)
    if quantize:
        # Only log this difference: the acceptable size depends on the model's use.
        int8_difference = write_model(quantized_path, PADDED_INT8)
        LOG.info(
            "%s: int8, %s; largest difference to the original %.2g",
            QUANTIZED,
            _size(quantized_path),
            int8_difference,
        )
        if dev is not None and spec.is_text_classifier:
            before, after = (accuracy(model_path, dev) for model_path in (path, quantized_path))
            LOG.info("accuracy on %d dev examples: %.4f before, %.4f after quantization", len(dev), before, after)
    write_companions(folder, exported, spec, labels, is_hugging_face)
    return files.list_directory(folder)


def write_companions(
    folder: str, exported: Exported, spec: HeadSpec, labels: tuple[str, ...] | None, is_hugging_face: bool = False
) -> None:
    """Write config, vocabulary, label names and modules.

    Args:
        folder: existing directory.
        exported: the model.
        spec: its head.
        labels: label names, or None.
        is_hugging_face: whether names and files are Hugging Face's.
    """
    source, config = exported.model, exported.model.config
    if is_hugging_face:
        # Always write label names, which transformers' pipelines expect.
        names = labels or (generic_labels(spec.num_outputs) if spec.has_labels else None)
        write_model_config(folder, config, source, spec.head_type, names, exported.problem_type)
        # Write the maximum length, so that other programs cut texts to the same length.
        write_tokenizer_files(folder, source, config, exported.max_seq_length)
    else:
        write_config(os.path.join(folder, CONFIG), config)
        with atomic_write(os.path.join(folder, VOCABULARY), "wb") as file:
            file.write(source.vocab_bytes)
        write_json(os.path.join(folder, TOKENIZER_CONFIG), source.tokenizer_values)
        if labels:
            write_lines(os.path.join(folder, LABELS), labels)
    write_modules(folder, exported.modules, config.max_position_embeddings)


def read_tensors(folder: str) -> tuple[list[Tensor], list[Tensor]]:
    """Return the inputs and outputs of the model in a directory."""
    graph = onnx.load(os.path.join(folder, MODEL)).graph

    def describe(value: onnx.ValueInfoProto) -> Tensor:
        tensor = value.type.tensor_type
        data_type = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name
        return Tensor(value.name, data_type, [size.dim_value or None for size in tensor.shape.dim[1:]])

    return [describe(value) for value in graph.input], [describe(value) for value in graph.output]


def _metadata(exported: Exported, spec: HeadSpec, labels: tuple[str, ...] | None) -> dict[str, str]:
    """Return the entries for metadata_props, which must be strings."""
    metadata = {"kind": spec.head_type, "do_lower_case": str(exported.model.do_lower_case).lower()}
    metadata |= {"max_seq_length": str(exported.max_seq_length)}
    metadata |= {name: str(value) for name, value in exported.recipe.facts().items()} if exported.recipe else {}
    metadata |= {"problem_type": exported.problem_type.name} if spec.is_text_classifier else {}
    return metadata | ({"labels": json.dumps(labels, ensure_ascii=False)} if labels else {})


def _run(path: str) -> Runner:
    """Return a runner that takes batches with the columns spec.INPUTS, for both kinds of names."""
    run = make_runner(path)
    return lambda batch: run(batch | hugging_face_inputs(batch))


def accuracy(path: str, dev: ClassificationFeatures) -> float:
    """Return an ONNX classifier's accuracy."""
    run = _run(path)
    num_correct = 0
    lengths = dev.sequences.lengths
    for rows in length_groups(lengths, _BATCH_TOKENS):
        # Accept logits, too: they have the same order as probabilities.
        (scores,) = run(dev.sequences.pad(rows, int(lengths[rows].max()))).values()
        num_correct += int((scores.argmax(axis=1) == dev.label_ids[rows]).sum())
    return num_correct / len(dev)


def _size(path: str) -> str:
    return byte_size(os.path.getsize(path), MB=1)
