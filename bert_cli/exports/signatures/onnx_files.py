"""Writer for ONNX files and their companions; TensorFlow computes the expected outputs."""

import json
import os
from collections.abc import Sequence
from typing import NamedTuple

import onnx

from bert_cli.base import files
from bert_cli.base.formats import byte_size
from bert_cli.base.head_types import ENCODER, HeadSpec
from bert_cli.base.log import LOG
from bert_cli.base.names import CONFIG, LABELS, TOKENIZER_CONFIG, VOCABULARY
from bert_cli.base.writing import atomic_write, write_json, write_lines
from bert_cli.exports.exported import MODEL, QUANTIZED, ModelToExport
from bert_cli.exports.hugging_face_files import write_model_config, write_tokenizer_files
from bert_cli.exports.signatures.int8_difference import cosines, log_int8_differences
from bert_cli.exports.signatures.network import check_difference, open_network_to_export
from bert_cli.exports.triton import Tensor
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.model.config_files import generic_labels, write_config
from bert_cli.onnx.bert import PADDED, GraphForm
from bert_cli.onnx.exported import NetworkSource, build_exported_graph, hugging_face_inputs
from bert_cli.onnx.int8 import PADDED_INT8
from bert_cli.onnx.runners import Runner, make_runner
from bert_cli.sentence.conversion import write_modules


class OnnxExport(NamedTuple):
    """File names, and the inputs and outputs of model.onnx."""

    names: list[str]
    inputs: list[Tensor]
    outputs: list[Tensor]


def write_onnx_files(
    folder: str,
    exported: ModelToExport,
    quantize: bool,
    sequences: Sequence[RaggedFeatures],
    is_hugging_face: bool = False,
) -> OnnxExport:
    """Write all files, and return their names with the model's tensors.

    Args:
        folder: existing directory.
        exported: the model.
        quantize: whether to write an int8 model, too.
        sequences: texts on which int8 is compared; none for random token ids.
        is_hugging_face: whether names and files are Hugging Face's (see onnx.exported.build_exported_graph).

    Raises:
        InputError: if the checkpoint is incomplete, or the ONNX model's outputs differ from the
            original's.
    """
    network = open_network_to_export(exported)
    spec, labels = network.spec, network.labels
    metadata = _metadata(exported, spec, labels)
    sources = [
        NetworkSource(member.loaded.tensors, member.exported.model.config, member.spec, member.order)
        for member in network.members
    ]

    def write_model(path: str, form: GraphForm) -> tuple[onnx.ModelProto, float]:
        """Write a model, and return it with the largest difference from the original's outputs."""
        model = build_exported_graph(sources, metadata, form, is_hugging_face, exported.vectors)
        onnx.save(model, path)
        return model, network.difference(_run(path)(network.random_batch), is_hugging_face)

    path, quantized_path = (os.path.join(folder, name) for name in (MODEL, QUANTIZED))
    model, difference = write_model(path, PADDED)
    check_difference(difference)
    LOG.info("%s: %s, %s; largest difference to the original %.2g", MODEL, spec.head_type, _size(path), difference)
    if quantize:
        _, int8_difference = write_model(quantized_path, PADDED_INT8)
        LOG.info("%s: int8, %s", QUANTIZED, _size(quantized_path))
        # Only log the difference: the acceptable size depends on the model's use.
        if sequences:
            log_int8_differences(_run(path), _run(quantized_path), spec, sequences, is_hugging_face)
        elif spec.head_type == ENCODER:
            # Differences of single numbers mislead: vectors are compared by their direction.
            batch = network.random_batch
            similarities = cosines(_run(path)(batch), _run(quantized_path)(batch), batch["input_mask"])
            line = "int8: cosine to the float32 vectors %.4f at least, on random token ids; --dev_file compares on your texts"
            LOG.info(line, float(similarities.min()))
        else:
            LOG.info("int8: largest difference to float32 %.2g, on random token ids", int8_difference)
    write_companions(folder, exported, spec, labels, is_hugging_face)
    tensors = [list(map(_describe, values)) for values in (model.graph.input, model.graph.output)]
    return OnnxExport(files.list_directory(folder), *tensors)


def write_companions(
    folder: str, exported: ModelToExport, spec: HeadSpec, labels: tuple[str, ...] | None, is_hugging_face: bool = False
) -> None:
    """Write config, vocabulary, label names and modules.

    Args:
        folder: existing directory.
        exported: the model.
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
        # An ensemble has several networks, and this file describes one.
        if not exported.members:
            write_config(os.path.join(folder, CONFIG), config)
        with atomic_write(os.path.join(folder, VOCABULARY), "wb") as file:
            file.write(source.vocab_bytes)
        write_json(os.path.join(folder, TOKENIZER_CONFIG), source.tokenizer_values)
        if labels:
            write_lines(os.path.join(folder, LABELS), labels)
    write_modules(folder, exported.modules, config.max_position_embeddings)


def _describe(value: onnx.ValueInfoProto) -> Tensor:
    tensor = value.type.tensor_type
    data_type = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name
    return Tensor(value.name, data_type, [size.dim_value or None for size in tensor.shape.dim[1:]])


def _metadata(exported: ModelToExport, spec: HeadSpec, labels: tuple[str, ...] | None) -> dict[str, str]:
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


def _size(path: str) -> str:
    return byte_size(os.path.getsize(path), MB=1)
