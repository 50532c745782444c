"""Writer for the files of a converted model.

Only formats that use a Keras model import TensorFlow, see exports.target.FORMATS.
"""

import dataclasses
import functools
import os
import re

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.head_types import HEAD_TYPES, MASKED_LM, POOLER
from bert_cli.base.log import LOG
from bert_cli.base.names import (
    CONFIG,
    FLAGS,
    LABELS,
    THRESHOLDS,
    TOKENIZER_CONFIG,
    VOCABULARY,
    join_names,
    read_name,
    write_name,
)
from bert_cli.base.writing import atomic_write, reporting_errors, write_json, write_lines
from bert_cli.exports.conversion_plan import ChosenLabels
from bert_cli.exports.converted import ConvertedModel
from bert_cli.exports.hugging_face_files import write_model_config, write_tokenizer_files
from bert_cli.metrics.multi_label import write_thresholds
from bert_cli.model.config_files import write_config
from bert_cli.model.networks import ELECTRA
from bert_cli.opening.bundle import ModelBundle
from bert_cli.opening.paths import run_folders
from bert_cli.predicting.decoder import find_thresholds
from bert_cli.problem_types.calibration import write_calibration
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.parts import LabelSet
from bert_cli.sentence.conversion import write_modules
from bert_cli.settings.groups import Inference
from bert_cli.text.tokenizer_json import tokenizer_config
from bert_cli.weights.electra import electra_to_google_name
from bert_cli.weights.formats.checkpoint_writer import write_tf1
from bert_cli.weights.hugging_face import write_safetensors
from bert_cli.weights.variables import DISCRIMINATOR, GENERATOR


def write_converted(staged: str, converted: ConvertedModel) -> list[str]:
    """Write all files into a directory, and return the names of files other than weights.

    Args:
        staged: directory to write.
        converted: the converted model.

    Raises:
        InputError: if a tensorflow-hub module would have no pooler, which its outputs need.
    """
    # List these before writing weights, because weights are published last.
    names = _write_sidecars(staged, converted)
    if converted.target.format != "hub":
        names += write_modules(staged, converted.modules, converted.config.max_position_embeddings)
    _write_weights(staged, converted)
    return names


def _write_sidecars(staged: str, converted: ConvertedModel) -> list[str]:
    """Write all files other than weights, and return their names.

    For a tensorflow-hub module, this only returns the names of files that come with the weights.
    """
    target, config, model = converted.target, converted.config, converted.source
    if target.format == "hub":
        extras = [os.path.join("assets.extra", name) for name in (CONFIG, TOKENIZER_CONFIG)]
        return extras + ([os.path.join("assets", VOCABULARY)] if model.optional_vocabulary else [])
    vocabulary, settings = model.optional_vocabulary, model.tokenizer_settings
    path = functools.partial(os.path.join, staged)
    if target.format == "hf":
        assert converted.head_type is not None, "choose_head_type finds one for every Hugging Face folder"
        write_model_config(
            staged, config, model, converted.head_type, converted.labels, model.head.named_problem_type, converted.dtype
        )
        if vocabulary:
            write_tokenizer_files(staged, model, config, config.max_position_embeddings)
    else:
        # Google's scripts only know the name "gelu".
        if config.activation.startswith("gelu"):
            config = dataclasses.replace(config, hidden_act="gelu", gelu=config.activation.removeprefix("gelu_"))
        write_config(path(CONFIG), config)
        # Copy flags.txt, which has threshold, layers and head input for the commands.
        if model.saved_flags:
            _write_flags(path(FLAGS), model, converted.chosen_labels)
    if vocabulary and target.format != "hf":
        with atomic_write(path(VOCABULARY), "wb") as file:
            file.write(model.vocab_bytes)
        # Write it only for other rules than Google's, because Google's scripts ignore this file.
        if not (model.do_lower_case and settings.has_google_rules):
            prefix = config.network.class_prefix
            values = tokenizer_config(model.do_lower_case, config.max_position_embeddings, vocabulary, prefix, settings)
            # Add all settings, because there is no tokenizer.json.
            write_json(path(TOKENIZER_CONFIG), values | ({} if settings.has_google_rules else settings.values()))
    if converted.head_type is not None and HEAD_TYPES[converted.head_type].is_of_texts:
        _write_calibration(staged, converted)
        _write_thresholds(path(THRESHOLDS), converted)
    # Do not write generic labels, which only Hugging Face's config needs, to labels.txt.
    if converted.labels is not None and (converted.chosen_labels or model.head.labels is not None):
        write_lines(path(LABELS), converted.labels)
    return files.list_directory(staged)


def _write_calibration(staged: str, converted: ConvertedModel) -> None:
    """Write the model's calibration for the converted labels, unless some were dropped."""
    model, chosen = converted.source, converted.chosen_labels
    problem_type = model.head.named_problem_type or SINGLE_LABEL
    calibrator = problem_type.calibrator
    labels = (chosen.stored or None) if chosen else converted.labels
    calibration = model.head.calibration(problem_type, labels)
    if not (calibration and calibrator):
        return
    if chosen and chosen.dropped:
        LOG.warning("warning: the calibration is not kept, because it was fitted with the dropped labels, too")
        return
    if chosen and calibrator.temperature_names(chosen.names):
        temperatures = tuple(calibration.temperatures[row] for row in chosen.rows)
        calibration = dataclasses.replace(calibration, temperatures=temperatures)
    write_calibration(staged, calibration, calibrator.temperature_names(converted.labels or ()))


def _write_thresholds(path: str, converted: ConvertedModel) -> None:
    """Write the model's tuned thresholds with the new label names."""
    model, chosen = converted.source, converted.chosen_labels
    source, labels = find_thresholds(run_folders(model.required_checkpoint)), model.head.labels
    thresholds = (model.head.problem_type or SINGLE_LABEL).find_thresholds(labels or ())
    if not (source and labels and thresholds):
        return
    values = thresholds.read(source, labels)
    if chosen:
        write_thresholds(path, chosen.names, values[list(chosen.rows)])
    else:
        write_thresholds(path, labels, values)


def _write_flags(path: str, model: ModelBundle, chosen: ChosenLabels | None) -> None:
    """Write the flags.txt of the run that made the model, with the converted casing and labels."""
    flags = files.read_bytes(os.path.join(model.folder, FLAGS))
    # A later run reads the casing in this file first, and --do_lower_case may have changed it.
    casing = f"--do_lower_case={str(model.do_lower_case).lower()}".encode()
    with atomic_write(path, "wb") as file:
        flags = re.sub(rb"(?m)^--do_lower_case=\w+", casing, flags)
        file.write(
            _with_labels(_name_positive_label(flags.decode(), model, chosen), chosen).encode() if chosen else flags
        )


def _name_positive_label(flags: str, model: ModelBundle, chosen: ChosenLabels) -> str:
    """Return the text of a flags.txt that names the label which has a fixed --threshold.

    By default it is the last label, and that may be another one after the conversion.
    """
    metrics, saved = (model.head.problem_type or SINGLE_LABEL).metrics, model.saved_flags
    has_threshold = saved.get("threshold", Inference.threshold) != Inference.threshold
    is_implied = has_threshold and "positive_label" not in saved
    label = metrics.positive_label(LabelSet(chosen.stored))
    return f"{flags}--positive_label={write_name(label)}\n" if is_implied and label else flags


def _with_labels(flags: str, chosen: ChosenLabels) -> str:
    """Return the text of a flags.txt with new names in --labels and --positive_label."""
    lines = []
    for line in flags.splitlines(keepends=True):
        name, _, value = line.rstrip("\n").partition("=")
        if name == "--positive_label":
            new_name = chosen.new_names.get(read_name(value))
            line = "" if new_name is None else f"{name}={write_name(new_name)}\n"
        lines.append(f"{name}={join_names(chosen.names)}\n" if name == "--labels" else line)
    return "".join(lines)


def _write_weights(staged: str, converted: ConvertedModel) -> None:
    """Write the weights under the target's names; a module also contains the vocabulary."""
    target, config, tensors = converted.target, converted.config, converted.tensors
    path = os.path.join(staged, target.name)
    if target.format == "hf":
        assert converted.head_type is not None, "choose_head_type finds one for every Hugging Face folder"
        write_safetensors(path, tensors, converted.head_type, converted.dtype, config.model_type)
        return
    if target.format == "hub" and not any(name.startswith(POOLER) for name in tensors):
        raise InputError(
            "the checkpoint has no pooler, which a module for tensorflow-hub needs; give another --to_format"
        )
    if target.format == "tf1":
        if config.model_type == ELECTRA:
            # Write one of the two networks in Google's checkpoints.
            network = GENERATOR if converted.heads == (MASKED_LM,) else DISCRIMINATOR
            tensors = {electra_to_google_name(name, network): values for name, values in tensors.items()}
        with reporting_errors(target.path(target.name)):
            write_tf1(path, tensors)
        return
    from bert_cli.exports.hub_writing import WRITE_ERRORS, save_encoder
    from bert_cli.exports.loaded import build_network
    from bert_cli.weights.h5_files import write_keras

    with reporting_errors(target.path(target.name), WRITE_ERRORS):
        model = build_network(config, converted.heads, tensors)
        if target.format == "hub":
            source = converted.source
            save_encoder(staged, model.encoder, config, source.vocab_bytes, source.tokenizer_values)
        else:
            # Write only the encoder if there is no head: BertEncoder can load this file.
            write_keras(path, model if converted.heads else model.encoder, tensors)
