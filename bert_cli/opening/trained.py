"""Facts about a trained model: its command, its labels, and the flags of its training run."""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import read_json
from bert_cli.base.log import inform_once
from bert_cli.base.names import FLAGS, TOKENIZER_CONFIG
from bert_cli.flags.option import build, every_flag
from bert_cli.flags.run_flags import read_flags
from bert_cli.flags.saved import read_remembered, warn_of_unknown_flags
from bert_cli.model.config import ModuleConfig
from bert_cli.model.networks import HEAD_TYPES_OF_CLASSES
from bert_cli.opening.bundle import AnyModel
from bert_cli.opening.loader import load_model
from bert_cli.problem_types.kinds import KINDS, find_task_kind
from bert_cli.problem_types.registry import TASK_FACTS
from bert_cli.run_directory.manifest import COMMAND, manifest_of
from bert_cli.settings.answering import WINDOW_LENGTH
from bert_cli.settings.data import Columns, TrainedColumns, read_columns
from bert_cli.text.tokenizer_files import read_model_length
from bert_cli.weights.path import CheckpointPath


def command_of(checkpoint: CheckpointPath) -> str | None:
    """Return the command that trained a model, or that fits a Hugging Face model; None if unknown."""
    manifest = manifest_of(checkpoint)
    # bert-convert writes flags.txt without run.json, and other programs write config.json.
    if COMMAND in manifest:
        return str(manifest[COMMAND])
    saved = read_flags(os.path.join(checkpoint.folder, FLAGS))
    kind = next((kind for kind in KINDS.values() if kind.own_flag in saved), None)
    path = checkpoint.hugging_face_config
    if kind or path is None:
        return kind.command if kind else None
    values = read_json(path, "fetch the model again")
    class_names = values.get("architectures") if isinstance(values, dict) else None
    # Other programs write this list, so a damaged one is no reason to refuse a model.
    class_names = class_names if isinstance(class_names, list) else []
    kind = find_task_kind({HEAD_TYPES_OF_CLASSES.get(name) for name in class_names if isinstance(name, str)})
    return kind.command if kind else None


def check_command(checkpoint: CheckpointPath, command: str) -> None:
    """Raise InputError if another command than `command` trained the model."""
    trained_by = command_of(checkpoint)
    kind = KINDS.get(trained_by or "")
    if kind and kind.head_type and kind.command != command:
        raise InputError(
            f"{checkpoint.folder}: holds a model of {trained_by}, and one of {command} is needed; use "
            f"{trained_by} (from Python {kind.python_class}), or give another folder"
        )


def load_with_settings(
    checkpoint: CheckpointPath, settings_class: type, flag_values: dict[str, Any], remembers: bool = True
) -> tuple[Any, AnyModel]:
    """Load a model and return (settings, model).

    Settings come from `flag_values`, from the training run, or from the command's defaults. The
    default of max_seq_length is `default_length`.

    Args:
        checkpoint: checkpoint to load.
        flag_values: flag name -> value; None if it is not given.
        remembers: whether to use the training run's flags.
    """
    flag_values = {name: value for name, value in flag_values.items() if value is not None}
    # The settings of a command that trains have all flags that its flags.txt may have.
    if remembers and any(flag.name == "do_train" for flag in every_flag(settings_class)):
        warn_of_unknown_flags(settings_class, checkpoint.folder)
    saved = read_remembered(settings_class, checkpoint.folder, flag_values.keys()) if remembers else {}
    values = saved | flag_values
    settings = build(settings_class, values)
    model = load_model(settings.model, checkpoint, values.get("max_seq_length", 1), settings.hub)
    if settings.hub.hub_module and not isinstance(model.config, ModuleConfig):
        raise InputError(
            f"--hub_module={settings.hub.hub_module}: the model in {checkpoint.name} needs no module; leave it out"
        )
    # Build the settings again: the default depends on the model.
    if "max_seq_length" not in values:
        length = default_length(settings.encoding.max_seq_length, model)
        settings = build(settings_class, values | {"max_seq_length": length})
    return settings, model


def default_length(command_default: int, model: AnyModel) -> int:
    """Return the maximum sequence length for a model without the flag.

    Args:
        command_default: default of the command's flag.
    """
    return own_length(command_default, model.required_checkpoint, model.config.max_position_embeddings)


def own_length(command_default: int, checkpoint: CheckpointPath, num_positions: int) -> int:
    """Return the maximum sequence length for a checkpoint without the flag, and log it once.

    A model of another program has a length in its files. Batches have no padding, so a larger
    length takes time only if texts are long.

    Args:
        command_default: default of the command's flag; 0 for vectors.
        num_positions: number of positions in its model.
    """
    # Windows of bert-squad cut no text, and other programs also use this length for them.
    if read_flags(os.path.join(checkpoint.folder, FLAGS)) or command_default == WINDOW_LENGTH:
        return min(command_default, num_positions)
    path = checkpoint.companion(TOKENIZER_CONFIG)
    stored_length = read_model_length(path) if path else None
    length = min(num_positions, stored_length or num_positions)
    source = path if length == stored_length else "all positions of the model"
    # The modules of sentence-transformers may have another length for vectors, see choose_recipe.
    if command_default:
        inform_once(f"{checkpoint.name}: sequences have up to {length} tokens ({source})")
    return length


def has_text_pairs(saved: Mapping[str, str]) -> bool:
    """Return whether a run was trained on text pairs, from its flags and guesses."""
    facts = TASK_FACTS.get(saved.get("task_name", ""))
    return facts.has_pairs if facts else "text_b_column" in saved


def num_trained_texts(model: AnyModel, task_name: str = "") -> int | None:
    """Return the number of texts per row in a model's training data: 1 or 2, None if unknown.

    Args:
        task_name: flag value, which is used if the model has no flags.txt.
    """
    saved = {"task_name": task_name} | model.guesses | model.saved_flags
    if has_text_pairs(saved):
        return 2
    return 1 if saved["task_name"] in TASK_FACTS or "text_column" in saved else None


def read_trained_columns(model: AnyModel, columns: Columns, task_name: str = "") -> TrainedColumns:
    """Return the columns of a model's training run.

    Args:
        columns: columns that this run's flags name.
        task_name: see num_trained_texts.
    """
    saved = read_columns(model.saved_flags)
    names = [field.name for field in dataclasses.fields(columns)]
    kept = [name for name in names if getattr(columns, name) == getattr(saved, name) is not None]
    return TrainedColumns(frozenset(kept), read_columns(model.guesses), num_trained_texts(model, task_name))
