"""A model on its way from one format to another: heads chosen, sizes changed, written, and compared. Imports TensorFlow."""

import dataclasses
import logging
import os

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CHOICE, CLASSIFIER, HEAD_TYPES, POOLER, TAGGER
from bert_cli.base.names import CONFIG, HUGGING_FACE_CONFIG
from bert_cli.exports import conversion
from bert_cli.exports.conversion_plan import TITLES, choose_kind
from bert_cli.exports.sidecars import check_label_names, write_sidecars
from bert_cli.exports.target import Target
from bert_cli.model.config import BertConfig, read_config
from bert_cli.model.resizing import resize_embeddings
from bert_cli.runs.loading.bundle import ModelBundle
from bert_cli.settings.tools import Changes
from bert_cli.weights.hugging_face import generic_labels
from bert_cli.weights.path import find_checkpoint

LOG = logging.getLogger("bert_cli")
_MAX_DIFFERENCE = 1e-4  # a resized table may be multiplied in another order of sums


@dataclasses.dataclass(frozen=True)
class Converted:
    """What is written: `tensors` (Google's name -> float32 array) of `config`, and `labels` of its classifier.

    loaded: what they come from; found: the heads that are there; kind, heads: which of them go along, see choose_kind;
    left_out: names that the target does not have.
    """

    loaded: conversion.Loaded
    found: tuple[str, ...]
    kind: str | None
    heads: tuple[str, ...]
    labels: tuple[str, ...] | None
    tensors: dict[str, np.ndarray]
    config: BertConfig
    left_out: list[str]


def convert(
    model: ModelBundle[BertConfig],
    target: Target,
    changes: Changes,
    random_seed: int,
) -> Converted:
    """Load a checkpoint and change it as it was asked for; says what is dropped. random_seed: of new rows.

    InputError where it is not whole, or the target cannot hold it.
    """
    config, reader = model.config, conversion.open_source(model.required_checkpoint, changes.average_last)
    found = conversion.heads_in(reader)
    kind = choose_kind(changes.head, found, model, target)
    heads = found if kind is None else HEAD_TYPES[kind].heads
    loaded = conversion.load(reader, config, heads, of_tokens=kind == TAGGER)
    shape = loaded.classifier_shape if CLASSIFIER in heads else None
    if kind == CHOICE and shape and shape[0] != 1:
        raise InputError(
            f"--head={kind}: the classifier has {shape[0]} outputs; a choice has one, for each of its endings"
        )
    labels = _labels(shape, model, target) if shape and kind != CHOICE else None
    tensors, left_out = dict(loaded.tensors), []
    if target.format == "hf" and kind and not HEAD_TYPES[kind].needs_pooler:
        left_out = [name for name in tensors if name.startswith(POOLER)]
        tensors = {name: values for name, values in tensors.items() if name not in left_out}
    elif "bert/pooler/dense/kernel" not in tensors:
        LOG.warning("warning: %s has no pooler, so none is written", reader.description)
    tensors, new_config = resize_embeddings(
        tensors, config, changes.resize_vocab, changes.resize_positions, random_seed
    )
    LOG.info(
        "%s: %d layers, hidden size %d, %d words, %s; heads: %s",
        reader.description, config.num_hidden_layers, config.hidden_size, config.vocab_size, config.activation,
        ", ".join(found) or "none",
    )  # fmt: skip
    converted = Converted(loaded, found, kind, heads, labels, tensors, new_config, left_out)
    _log(converted, target, changes.dtype)
    return converted


def _labels(shape: tuple[int, int], model: ModelBundle[BertConfig], target: Target) -> tuple[str, ...] | None:
    """The classifier's labels, which Hugging Face cannot do without; None where they are not known and not needed."""
    count, width = shape
    check_label_names(model.labels, count)
    last_layers = ((-1,), (model.config.num_hidden_layers - 1,))
    if target.format == "hf" and (width != model.config.hidden_size or model.layers not in last_layers):
        raise InputError("this tagger reads other layers than the last one, which Hugging Face's class cannot")
    if not model.text_input.reads_pooler:
        read = f"this classifier reads another output of the encoder than the pooler's (--head_input={model.text_input.name})"
        if target.format == "hf":
            raise InputError(f"{read}, which Hugging Face's class cannot; --head=encoder converts the encoder alone")
        LOG.warning("warning: %s: our commands know it from flags.txt, others would read the pooler's", read)
    return model.labels or (generic_labels(count) if target.format == "hf" else None)


def _log(converted: Converted, target: Target, dtype: str) -> None:
    loaded, found, left_out = converted.loaded, converted.found, converted.left_out
    architecture = HEAD_TYPES[converted.kind].architecture if target.format == "hf" and converted.kind else ""
    named = f", {architecture}" if architecture else ""
    LOG.info("converted to a %s%s: %d weights, %s", TITLES[target.format], named, len(converted.tensors), dtype)
    if loaded.leftovers:
        LOG.info("dropped: %d variables that training left (adam_m, adam_v, global_step, …)", loaded.leftovers)
    if target.format == "hub" and found:
        LOG.info("dropped: %s: a module for tensorflow-hub holds the encoder alone", ", ".join(found))
    if left_out:
        LOG.info("dropped: %s, which %s does not have", _listed(left_out), architecture)
    if loaded.report.unused:
        LOG.info("unused: %s", _listed(loaded.report.unused))


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def write(staged: str, target: Target, converted: Converted, model: ModelBundle, dtype: str) -> list[str]:
    """Write all files into the folder `staged`; returns the names of those beside the weights."""
    config, kind = converted.config, converted.kind
    names = write_sidecars(staged, target, config, model, kind, converted.labels, dtype)
    conversion.write_weights(staged, target, converted.tensors, config, kind, converted.heads, dtype, model)
    return names


def compare(staged: str, target: Target, converted: Converted, dtype: str, random_seed: int) -> dict[str, float]:
    """Read what was written, compare the outputs, and log the largest difference of each; InputError where they differ.

    random_seed: of the token ids.
    """
    path = find_checkpoint(staged if target.format in ("hf", "hub") else os.path.join(staged, target.name), "to")
    config_file = path.companion(CONFIG, HUGGING_FACE_CONFIG)
    assert config_file is not None, "every format is written with its config"
    config = read_config(config_file)
    reader = conversion.open_source(path)
    written = conversion.load(reader, config, converted.heads, of_tokens=converted.kind == TAGGER)
    differences = conversion.largest_differences(converted.loaded, written, random_seed)
    each = ", ".join(f"{name} {value:.3g}" for name, value in differences.items())
    LOG.info("check: largest difference %.3g (%s)", max(differences.values()), each)
    if dtype == "float32" and not max(differences.values()) <= _MAX_DIFFERENCE:
        raise InputError("the converted model gives other outputs than the original; nothing was written")
    return differences
