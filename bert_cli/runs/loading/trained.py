"""A trained model: its command, its labels, and the flags that its training run left."""

import dataclasses
import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.head_types import CLASSIFIER, SPANS, TAGGER
from bert_cli.base.json_files import read_json
from bert_cli.base.names import FLAGS
from bert_cli.examples.glue import TASKS, find_task
from bert_cli.flags.option import build
from bert_cli.flags.saved import read_flags, read_remembered
from bert_cli.model.config import ModuleConfig
from bert_cli.model.networks import HEAD_TYPES_OF_CLASSES
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.runs.loading.bundle import AnyModel
from bert_cli.runs.loading.checkpoints import trained_folder
from bert_cli.runs.loading.loader import load_model
from bert_cli.runs.output_dir.manifest import COMMAND, check_labels, read_manifest
from bert_cli.settings.checks import check_and_derive
from bert_cli.settings.data import Columns, TrainedColumns, read_columns
from bert_cli.weights.path import CheckpointPath

# Of each command: its head type, the class that loads its models from Python, and a flag that its
# flags.txt alone has.
_COMMANDS = {
    "bert-classify": (CLASSIFIER, "Classifier", "threshold"),
    "bert-tag": (TAGGER, "Tagger", "tag_scheme"),
    "bert-squad": (SPANS, "QuestionAnswerer", "n_best_size"),
}


def complete_values(
    settings_class: type, values: dict[str, Any], given: Collection[str], own: Collection[str] = ()
) -> dict[str, Any]:
    """The values of all flags of a command that trains, without training with what the training run
    left in flags.txt.

    given: the flags on the command line, which come first; own: flags of which the training run's
    value is not taken either. InputError for what does not go together, and where there is no
    trained model.
    """
    check_and_derive(values)
    if not values["do_train"]:
        folder = trained_folder(values["init_checkpoint"], values["output_dir"])
        values |= read_remembered(settings_class, folder, {*given, *own})
    return values


def load_with_settings(
    checkpoint: CheckpointPath, settings_class: type, given: dict[str, Any], remembers: bool = True
) -> tuple[Any, AnyModel]:
    """(a command's settings for a checkpoint, the loaded model).

    Settings are those given by name (None for not given), else, where it `remembers`, what the
    training run had, else the command's defaults; max_seq_length is then at most what the model has
    positions for.
    """
    given = {name: value for name, value in given.items() if value is not None}
    saved = read_remembered(settings_class, checkpoint.folder, given.keys()) if remembers else {}
    values = saved | given
    settings = build(settings_class, values)
    model = load_model(settings.model, checkpoint, values.get("max_seq_length", 1), settings.hub)
    if settings.hub.hub_module and not isinstance(model.config, ModuleConfig):
        raise InputError(
            f"--hub_module={settings.hub.hub_module}: the model in {checkpoint.name} needs no module; leave it out"
        )
    # Built again, as the default is known only when the model is: it may have fewer positions.
    if "max_seq_length" not in values:
        length = min(settings.encoding.max_seq_length, model.config.max_position_embeddings)
        settings = build(settings_class, values | {"max_seq_length": length})
    return settings, model


def command_of(checkpoint: CheckpointPath) -> str | None:
    """The command that trained a model, or that a model of Hugging Face is for; None where its
    files do not say it.
    """
    manifest = read_manifest(checkpoint.folder)
    # run.json names it; folders of older versions have only flags.txt, and folders of other
    # programs config.json.
    if manifest and COMMAND in manifest:
        return str(manifest[COMMAND])
    saved = read_flags(os.path.join(checkpoint.folder, FLAGS))
    known = next((command for command, (_, _, flag) in _COMMANDS.items() if flag in saved), None)
    path = checkpoint.hugging_face_config
    if known or path is None:
        return known
    values = read_json(path, "fetch the model again")
    named = values.get("architectures") if isinstance(values, dict) else None
    # Written by anybody: a damaged list is no reason to refuse a model.
    named = named if isinstance(named, list) else []
    kinds = [HEAD_TYPES_OF_CLASSES.get(name) for name in named if isinstance(name, str)]
    return next((command for command, (kind, _, _) in _COMMANDS.items() if kind in kinds), None)


def check_command(checkpoint: CheckpointPath, command: str) -> None:
    """InputError for a model that was trained by another command than `command`."""
    found = command_of(checkpoint)
    if found in _COMMANDS and found != command:
        raise InputError(
            f"{checkpoint.folder}: holds a model of {found}, and one of {command} is needed; use "
            f"{found} (from Python {_COMMANDS[found][1]}), or give another folder"
        )


def agreed_labels(given: tuple[str, ...] | None, saved: tuple[str, ...] | None, folder: str) -> tuple[str, ...] | None:
    """The labels of the flag or of the files in a model's folder. InputError where both are there
    and differ.
    """
    if given and saved and given != saved:
        raise InputError(
            f"--labels={','.join(given)}: the model in {folder} was trained with "
            f"{','.join(saved)}, in this order; leave --labels out"
        )
    return given or saved


def trained_on_pairs(saved: Mapping[str, str]) -> bool:
    """What the flags of a run, with its guesses, say of its texts."""
    return find_task(saved["task_name"]).has_pairs if saved.get("task_name") in TASKS else "text_b_column" in saved


def trained_texts(model: AnyModel, task_name: str = "") -> int | None:
    """Return the number of texts in a row of a model's training data: 1, 2 for pairs, or None if it is not known.

    task_name: of the flags, for a folder without flags.txt.
    """
    saved = {"task_name": task_name} | model.guesses | model.saved_flags
    if trained_on_pairs(saved):
        return 2
    return 1 if saved["task_name"] in TASKS or "text_column" in saved else None


def trained_columns(model: AnyModel, columns: Columns) -> TrainedColumns:
    """Return the columns of the training run of a model; columns: as the flags of this run name them."""
    saved = read_columns(model.saved_flags)
    names = [field.name for field in dataclasses.fields(columns)]
    kept = [name for name in names if getattr(columns, name) == getattr(saved, name) is not None]
    return TrainedColumns(frozenset(kept), read_columns(model.guesses))


def check_label_count(given: Sequence[str], model: AnyModel) -> None:
    """Raise InputError if labels do not name all outputs of a Hugging Face classifier."""
    if given and model.num_outputs not in (None, len(given)):
        raise InputError(
            f"--labels={','.join(given)}: {len(given)} names, but the classifier in {model.folder} has "
            f"{model.num_outputs} outputs; name all of them, in their order"
        )


def trained_labels(given: tuple[str, ...], model: AnyModel, problem_type: ProblemType | None) -> tuple[str, ...]:
    """Return the labels of the flag or of a trained model, () if neither has any.

    Args:
        given: labels of the flag.
        model: model that was trained.
        problem_type: problem type of the model, None if the data decides it.

    Raises:
        InputError: the two differ, labels.txt is lost, or the number or kind of labels is wrong.
    """
    if problem_type and problem_type.is_numeric:
        refuse_if(given, f"--labels: the model in {model.folder} predicts a number; leave them out")
        return ()
    if not given and not model.labels:
        # The manifest of a bert_cli run lists the labels, so a lost file is noticed.
        check_labels((), model.required_checkpoint)
    labels = agreed_labels(given, model.labels, model.folder) or ()
    check_label_count(given, model)
    if len(labels) == 1 and problem_type and problem_type.is_exclusive and problem_type.has_named_outputs:
        raise InputError(
            f"{model.folder}: one label ({labels[0]}) would always have the probability 1; give two as --labels, or "
            "--problem_type=regression or multi_label"
        )
    return labels
