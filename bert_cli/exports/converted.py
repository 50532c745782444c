"""A model on its way from one format to another: heads chosen, sizes changed, and compared with what
was written. Imports TensorFlow.
"""

import dataclasses
import os

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import (
    CHOICE,
    CLASSIFIER,
    HEAD_TYPES,
    POOLER,
    TAGGER,
    count_parameters,
    head_of,
    parameters_line,
)
from bert_cli.base.log import LOG
from bert_cli.base.messages import list_some
from bert_cli.base.names import CONFIG, HUGGING_FACE_CONFIG
from bert_cli.exports.conversion_plan import check_label_names, choose_head_type
from bert_cli.exports.loaded import Loaded, largest_differences, load, open_source
from bert_cli.exports.target import FORMATS, Target
from bert_cli.model.config import BertConfig
from bert_cli.model.config_files import read_config
from bert_cli.model.resizing import resize_embeddings
from bert_cli.runs.loading.bundle import ModelBundle
from bert_cli.settings.tools import Changes
from bert_cli.weights.hugging_face import generic_labels
from bert_cli.weights.path import find_checkpoint

_MAX_DIFFERENCE = 1e-4  # a resized table may be multiplied in another order of sums


@dataclasses.dataclass(frozen=True)
class Converted:
    """The result: `tensors` (Google's name -> float32 array) of `config`, and `labels` of its
    classifier.

    source: the model that is converted; loaded: its weights; kind, heads: which of its heads go
    along, see choose_head_type; dtype: what a Hugging Face folder stores; left_out: names that the
    target does not have.
    """

    source: ModelBundle[BertConfig]
    target: Target
    dtype: str
    loaded: Loaded
    kind: str | None
    heads: tuple[str, ...]
    labels: tuple[str, ...] | None
    tensors: dict[str, np.ndarray]
    config: BertConfig
    left_out: list[str]


def convert(model: ModelBundle[BertConfig], target: Target, changes: Changes, random_seed: int) -> Converted:
    """Load a checkpoint and change it as it was asked for; logs what is dropped. random_seed: of
    new rows.

    InputError where it is not whole, or the target cannot hold it.
    """
    config = model.config
    reader = open_source(model.required_checkpoint, changes.average_last)
    found = tuple(sorted({head for name in reader.shapes if (head := head_of(name))}))
    kind = choose_head_type(changes.head, found, model, target)
    heads = found if kind is None else HEAD_TYPES[kind].heads
    loaded = load(reader, config, heads, of_tokens=kind == TAGGER)
    shape = loaded.tensors["output_weights"].shape if CLASSIFIER in heads else None
    if kind == CHOICE and shape and shape[0] != 1:
        raise InputError(
            f"--head={kind}: the classifier has {shape[0]} outputs; a multiple-choice head has one, for each ending"
        )
    labels = _labels(shape, model, target) if shape and kind != CHOICE else None
    tensors = dict(loaded.tensors)
    left_out = []
    network = config.network
    if target.format == "hf" and kind and not network.needs_pooler(kind):
        left_out = [name for name in tensors if name.startswith(POOLER)]
        tensors = {name: values for name, values in tensors.items() if name not in left_out}
    # Only where the target has a place for it: a class without a pooler is complete.
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
    LOG.info(parameters_line(count_parameters({name: each.shape for name, each in loaded.tensors.items()})))
    # Logged after all checks, so that no line says "converted" before an error.
    architecture = network.architecture(kind) if target.format == "hf" and kind else ""
    named = f", {architecture}" if architecture else ""
    title = FORMATS[target.format].title
    LOG.info("converted to a %s%s: %d weights, %s", title, named, len(tensors), changes.dtype)
    known = {*loaded.tensors, *loaded.report.unused}
    leftovers = sum(name not in known for name in reader.shapes)
    if leftovers:
        LOG.info("dropped: %d variables that training left (adam_m, adam_v, global_step, …)", leftovers)
    if target.format == "hub" and found:
        LOG.info("dropped: %s: a module for tensorflow-hub holds the encoder alone", ", ".join(found))
    if left_out:
        LOG.info("dropped: %s, which %s does not have", list_some(left_out), architecture)
    if loaded.report.unused:
        LOG.info("unused: %s", list_some(loaded.report.unused))
    return Converted(model, target, changes.dtype, loaded, kind, heads, labels, tensors, new_config, left_out)


def _labels(shape: tuple[int, int], model: ModelBundle[BertConfig], target: Target) -> tuple[str, ...] | None:
    """The classifier's labels, which Hugging Face cannot do without; None where they are not known
    and not needed.
    """
    count, width = shape
    check_label_names(model.labels, count)
    # Both spellings of --layers for the last layer.
    last_layers = ((-1,), (model.config.num_hidden_layers - 1,))
    if target.format == "hf" and (width != model.config.hidden_size or model.layers not in last_layers):
        raise InputError("this tagger reads other layers than the last one, which Hugging Face's class cannot")
    if not model.text_input.reads_pooler:
        read = f"this classifier reads another output of the encoder than the pooler's (--head_input={model.text_input.name})"
        if target.format == "hf":
            raise InputError(f"{read}, which Hugging Face's class cannot; --head=encoder converts the encoder alone")
        LOG.warning("warning: %s: our commands know it from flags.txt, others would read the pooler's", read)
    return model.labels or (generic_labels(count) if target.format == "hf" else None)


def compare(staged: str, converted: Converted, random_seed: int) -> dict[str, float]:
    """Read what was written, compare the outputs, and log the largest difference of each;
    InputError where they differ.

    random_seed: of the token ids.
    """
    target = converted.target
    # By the same search as any later command, so the check covers names and layout of the files,
    # too.
    path = find_checkpoint(staged if target.format in ("hf", "hub") else os.path.join(staged, target.name), "to")
    config_file = path.companion(CONFIG, HUGGING_FACE_CONFIG)
    assert config_file is not None, "every format is written with its config"
    written = load(open_source(path), read_config(config_file), converted.heads, of_tokens=converted.kind == TAGGER)
    differences = largest_differences(converted.loaded, written, random_seed)
    each = ", ".join(f"{name} {value:.3g}" for name, value in differences.items())
    LOG.info("check: largest difference %.3g (%s)", max(differences.values()), each)
    # Turned around, so that NaN counts as different. Half precision differs by its rounding.
    if converted.dtype == "float32" and not max(differences.values()) <= _MAX_DIFFERENCE:
        raise InputError("the converted model gives other outputs than the original; nothing was written")
    return differences
