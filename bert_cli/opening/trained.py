"""Facts about a trained model: its command, its labels, and the flags of its training run."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.head_types import CLASSIFIER, SPANS, TAGGER
from bert_cli.base.json_files import read_json
from bert_cli.base.names import FLAGS
from bert_cli.flags.option import build
from bert_cli.flags.run_flags import read_flags
from bert_cli.flags.saved import read_remembered
from bert_cli.model.config import ModuleConfig
from bert_cli.model.networks import HEAD_TYPES_OF_CLASSES
from bert_cli.opening.bundle import AnyModel
from bert_cli.opening.loader import load_model
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.registry import TASK_FACTS
from bert_cli.run_directory.manifest import COMMAND, check_labels, manifest_of
from bert_cli.settings.data import Columns, TrainedColumns, read_columns
from bert_cli.weights.path import CheckpointPath

# Command -> head type, class that loads its models in Python, and a flag that is only in its
# flags.txt.
_COMMANDS = {
    "bert-classify": (CLASSIFIER, "Classifier", "threshold"),
    "bert-tag": (TAGGER, "Tagger", "tag_scheme"),
    "bert-squad": (SPANS, "QuestionAnswerer", "n_best_size"),
}


def command_of(checkpoint: CheckpointPath) -> str | None:
    """Return the command that trained a model, or that fits a Hugging Face model; None if unknown."""
    manifest = manifest_of(checkpoint)
    # bert-convert writes flags.txt without run.json, and other programs write config.json.
    if COMMAND in manifest:
        return str(manifest[COMMAND])
    saved = read_flags(os.path.join(checkpoint.folder, FLAGS))
    command_from_flags = next((command for command, (_, _, flag) in _COMMANDS.items() if flag in saved), None)
    path = checkpoint.hugging_face_config
    if command_from_flags or path is None:
        return command_from_flags
    values = read_json(path, "fetch the model again")
    class_names = values.get("architectures") if isinstance(values, dict) else None
    # Other programs write this list, so a damaged one is no reason to refuse a model.
    class_names = class_names if isinstance(class_names, list) else []
    head_types = [HEAD_TYPES_OF_CLASSES.get(name) for name in class_names if isinstance(name, str)]
    return next((command for command, (head_type, _, _) in _COMMANDS.items() if head_type in head_types), None)


def check_command(checkpoint: CheckpointPath, command: str) -> None:
    """Raise InputError if another command than `command` trained the model."""
    trained_by = command_of(checkpoint)
    if trained_by in _COMMANDS and trained_by != command:
        raise InputError(
            f"{checkpoint.folder}: holds a model of {trained_by}, and one of {command} is needed; use "
            f"{trained_by} (from Python {_COMMANDS[trained_by][1]}), or give another folder"
        )


def load_with_settings(
    checkpoint: CheckpointPath, settings_class: type, flag_values: dict[str, Any], remembers: bool = True
) -> tuple[Any, AnyModel]:
    """Load a model and return (settings, model).

    Settings come from `flag_values`, from the training run, or from the command's defaults. The
    default of max_seq_length is limited by the model's positions.

    Args:
        checkpoint: checkpoint to load.
        settings_class: the command's settings class.
        flag_values: flag name -> value; None if it is not given.
        remembers: whether to use the training run's flags.
    """
    flag_values = {name: value for name, value in flag_values.items() if value is not None}
    saved = read_remembered(settings_class, checkpoint.folder, flag_values.keys()) if remembers else {}
    values = saved | flag_values
    settings = build(settings_class, values)
    model = load_model(settings.model, checkpoint, values.get("max_seq_length", 1), settings.hub)
    if settings.hub.hub_module and not isinstance(model.config, ModuleConfig):
        raise InputError(
            f"--hub_module={settings.hub.hub_module}: the model in {checkpoint.name} needs no module; leave it out"
        )
    # Build the settings again: the default depends on the model, which may have fewer positions.
    if "max_seq_length" not in values:
        length = min(settings.encoding.max_seq_length, model.config.max_position_embeddings)
        settings = build(settings_class, values | {"max_seq_length": length})
    return settings, model


def merge_labels(
    flag_labels: tuple[str, ...] | None, model_labels: tuple[str, ...] | None, model_folder: str
) -> tuple[str, ...] | None:
    """Return the labels from the flag or from a model's files.

    Args:
        flag_labels: labels from the flag, or None.
        model_labels: labels from the model's files, or None.
        model_folder: the model's directory, for the message.

    Raises:
        InputError: if the two differ.
    """
    if flag_labels and model_labels and flag_labels != model_labels:
        raise InputError(
            f"--labels={','.join(flag_labels)}: the model in {model_folder} was trained with "
            f"{','.join(model_labels)}, in this order; leave --labels out"
        )
    return flag_labels or model_labels


def has_text_pairs(saved: Mapping[str, str]) -> bool:
    """Return whether a run was trained on text pairs, from its flags and guesses."""
    facts = TASK_FACTS.get(saved.get("task_name", ""))
    return facts.has_pairs if facts else "text_b_column" in saved


def num_trained_texts(model: AnyModel, task_name: str = "") -> int | None:
    """Return the number of texts per row in a model's training data: 1 or 2, None if unknown.

    Args:
        model: the model.
        task_name: flag value, which is used if the model has no flags.txt.
    """
    saved = {"task_name": task_name} | model.guesses | model.saved_flags
    if has_text_pairs(saved):
        return 2
    return 1 if saved["task_name"] in TASK_FACTS or "text_column" in saved else None


def trained_columns(model: AnyModel, columns: Columns) -> TrainedColumns:
    """Return the columns of a model's training run.

    Args:
        model: the model.
        columns: columns that this run's flags name.
    """
    saved = read_columns(model.saved_flags)
    names = [field.name for field in dataclasses.fields(columns)]
    kept = [name for name in names if getattr(columns, name) == getattr(saved, name) is not None]
    return TrainedColumns(frozenset(kept), read_columns(model.guesses))


def check_label_count(labels: Sequence[str], model: AnyModel) -> None:
    """Raise InputError if labels do not name all outputs of a Hugging Face classifier."""
    if labels and model.head.num_outputs not in (None, len(labels)):
        raise InputError(
            f"--labels={','.join(labels)}: {len(labels)} names, but the classifier in {model.folder} has "
            f"{model.head.num_outputs} outputs; name all of them, in their order"
        )


def trained_labels(flag_labels: tuple[str, ...], model: AnyModel, problem_type: ProblemType | None) -> tuple[str, ...]:
    """Return the labels from the flag or from a trained model; () if neither has any.

    Args:
        flag_labels: labels from the flag.
        model: the trained model.
        problem_type: the model's problem type; None if the data decides it.

    Raises:
        InputError: if the two differ, labels.txt is lost, or there is a wrong number of labels.
    """
    if problem_type and problem_type.reader.is_numeric:
        refuse_if(flag_labels, f"--labels: the model in {model.folder} predicts a number; leave them out")
        return ()
    if not flag_labels and not model.head.labels:
        # The manifest of a bert_cli run lists the labels, so a lost file is noticed.
        check_labels((), model.required_checkpoint)
    labels = merge_labels(flag_labels, model.head.labels, model.folder) or ()
    check_label_count(flag_labels, model)
    if len(labels) == 1 and problem_type and problem_type.decoder.is_exclusive and problem_type.reader.has_names:
        raise InputError(
            f"{model.folder}: one label ({labels[0]}) would always have the probability 1; give two as --labels, or "
            "--problem_type=regression or multi_label"
        )
    return labels
