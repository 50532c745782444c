"""Conversion of a model: choosing heads and resizing embeddings.

This module does not import TensorFlow.
"""

import dataclasses

import numpy as np

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import list_some
from bert_cli.base.head_types import (
    CLASSIFIER,
    HEAD_TYPES,
    POOLER,
    count_parameters,
    is_multiple_choice_head,
    is_token_head,
    parameters_line,
)
from bert_cli.base.log import LOG
from bert_cli.exports.conversion_plan import (
    ChosenLabels,
    check_label_names,
    choose_head_type,
    choose_labels,
    find_heads,
)
from bert_cli.exports.target import FORMATS, Target
from bert_cli.model.config import BertConfig
from bert_cli.model.config_files import generic_labels
from bert_cli.model.resizing import resize_embeddings
from bert_cli.opening.bundle import ModelBundle
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.sentence.modules import SentenceModules
from bert_cli.settings.tools import ModelChanges
from bert_cli.weights.checkpoint import CheckpointWeights, open_source, read_with_heads
from bert_cli.weights.head_rows import HEAD_WEIGHTS, HeadRowsReader
from bert_cli.weights.variables import Reader


@dataclasses.dataclass(frozen=True)
class ConvertedModel:
    """A converted model.

    Attributes:
        source: the source model.
        target: format and path.
        dtype: dtype for a Hugging Face directory.
        weights: the source's weights.
        head_type: head type from `choose_head_type`; None if there are several heads.
        heads: all converted heads.
        labels: label names for the classifier; None if unknown, or without a classifier.
        tensors: converted float32 weights by Google's name.
        config: converted config.
        left_out: names of weights that the target does not have.
        modules: modules of sentence-transformers, or None.
        chosen_labels: labels that --labels chooses, or None.
    """

    source: ModelBundle[BertConfig]
    target: Target
    dtype: str
    weights: CheckpointWeights
    head_type: str | None
    heads: tuple[str, ...]
    labels: tuple[str, ...] | None
    tensors: dict[str, np.ndarray]
    config: BertConfig
    left_out: list[str]
    modules: SentenceModules | None
    chosen_labels: ChosenLabels | None = None


def convert_checkpoint(
    model: ModelBundle[BertConfig],
    target: Target,
    changes: ModelChanges,
    random_seed: int,
    modules: SentenceModules | None = None,
) -> ConvertedModel:
    """Load and convert a checkpoint, and log which weights are dropped.

    Args:
        model: the source model.
        target: format and path of the result.
        changes: flags for heads, sizes and dtype.
        random_seed: seed for new embedding rows.
        modules: modules of sentence-transformers to keep, or None.

    Raises:
        InputError: if the checkpoint is incomplete, or the target cannot store the model.
    """
    config = model.config
    reader = open_source(model.required_checkpoint, changes.average_last)
    checkpoint_heads = find_heads(reader.shapes, model, changes.head)
    head_type = choose_head_type(changes.head, checkpoint_heads, model, target)
    heads = checkpoint_heads if head_type is None else HEAD_TYPES[head_type].heads
    chosen = _choose_rows(changes.labels, reader, model, head_type, heads)
    reader = HeadRowsReader(reader, chosen.rows) if chosen else reader
    weights = read_with_heads(reader, config, heads, model.required_checkpoint.is_strict)
    shape = weights.tensors["output_weights"].shape if CLASSIFIER in heads else None
    if is_multiple_choice_head(head_type) and shape and shape[0] != 1:
        raise InputError(
            f"--head={head_type}: the classifier has {shape[0]} outputs; a multiple-choice head has one, for each ending"
        )
    labels = _choose_labels(shape, model, target, chosen) if shape and not is_multiple_choice_head(head_type) else None
    tensors = dict(weights.tensors)
    left_out = []
    network = config.network
    if target.format == "hf" and head_type and not network.needs_pooler(head_type):
        left_out = [name for name in tensors if name.startswith(POOLER)]
        tensors = {name: values for name, values in tensors.items() if name not in left_out}
    # Do not warn for a class without a pooler.
    elif "bert/pooler/dense/kernel" not in tensors:
        LOG.warning("warning: %s has no pooler, so none is written", reader.description)
    tensors, new_config = resize_embeddings(
        tensors, config, changes.resize_vocab, changes.resize_positions, random_seed
    )
    LOG.info(
        "%s: %d layers, hidden size %d, %d words, %s; heads: %s",
        reader.description, config.num_hidden_layers, config.hidden_size, config.vocab_size, config.activation,
        ", ".join(checkpoint_heads) or "none",
    )  # fmt: skip
    LOG.info(parameters_line(count_parameters({name: values.shape for name, values in weights.tensors.items()})))
    # Log after all checks, so that no error follows the line "converted".
    architecture = network.architecture(head_type) if target.format == "hf" and head_type else ""
    class_suffix = f", {architecture}" if architecture else ""
    title = FORMATS[target.format].title
    LOG.info("converted to a %s%s: %d weights, %s", title, class_suffix, len(tensors), changes.dtype)
    used_names = {*weights.tensors, *weights.report.unused}
    leftovers = sum(name not in used_names for name in reader.shapes)
    if leftovers:
        LOG.info("dropped: %d variables that training left (adam_m, adam_v, global_step, …)", leftovers)
    if target.format == "hub" and checkpoint_heads:
        LOG.info("dropped: %s: a module for tensorflow-hub holds the encoder alone", ", ".join(checkpoint_heads))
    if modules:
        note = "dropped: modules" if target.format == "hub" else "modules of sentence-transformers"
        LOG.info("%s: %s", note, modules.describe())
    if left_out:
        LOG.info("dropped: %s, which %s does not have", list_some(left_out), architecture)
    if weights.report.unused:
        LOG.info("unused: %s", list_some(weights.report.unused))
    return ConvertedModel(
        model, target, changes.dtype, weights, head_type, heads, labels, tensors, new_config, left_out, modules, chosen
    )


def _choose_rows(
    entries: tuple[str, ...] | None,
    reader: Reader,
    model: ModelBundle[BertConfig],
    head_type: str | None,
    heads: tuple[str, ...],
) -> ChosenLabels | None:
    """Return the labels that --labels chooses, or None without the flag.

    Raises:
        InputError: if the target has no classifier with label names, or a label is unknown.
    """
    if not entries:
        return None
    refuse_if(
        CLASSIFIER not in heads or is_multiple_choice_head(head_type), "--labels: the new model has no head with labels"
    )
    problem_type = None if is_token_head(head_type) else model.head.problem_type
    if problem_type:
        problem_type.reader.check_flag_labels("the model")
    count = reader.shapes[HEAD_WEIGHTS][0]
    check_label_names(model.head.labels, count)
    chosen = choose_labels(entries, model.head.labels or (), count, head_type)
    LOG.info(chosen.describe())
    is_single = len(entries) < (problem_type or SINGLE_LABEL).reader.min_labels
    refuse_if(is_single, "--labels: one label would always have the probability 1; give two")
    return chosen


def _choose_labels(
    shape: tuple[int, int], model: ModelBundle[BertConfig], target: Target, chosen: ChosenLabels | None
) -> tuple[str, ...] | None:
    """Return the classifier's labels, or None if they are unknown and the target needs none.

    Hugging Face's format needs labels, so unknown ones get generic names there.
    """
    count, width = shape
    labels = chosen.names if chosen else model.head.labels
    check_label_names(labels, count)
    # The last layer has two indices in --layers.
    last_layers = ((-1,), (model.config.num_hidden_layers - 1,))
    if target.format == "hf" and (width != model.config.hidden_size or model.head.layers not in last_layers):
        raise InputError("this tagger reads other layers than the last one, which Hugging Face's class cannot")
    if not model.head.text_input.reads_pooler:
        flag = f"--head_input={model.head.text_input.name}"
        issue = f"this classifier reads another output of the encoder than the pooler's ({flag})"
        if target.format == "hf":
            raise InputError(f"{issue}, which Hugging Face's class cannot; --head=encoder converts the encoder alone")
        LOG.warning("warning: %s: our commands know it from flags.txt, others would read the pooler's", issue)
    return labels or (generic_labels(count) if target.format == "hf" else None)
