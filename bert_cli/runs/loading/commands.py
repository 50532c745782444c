"""The command that trained a model."""

import os

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, SPANS, TAGGER
from bert_cli.base.json_files import read_json
from bert_cli.base.names import FLAGS
from bert_cli.flags.run_flags import read_flags
from bert_cli.model.networks import HEAD_TYPES_OF_CLASSES
from bert_cli.runs.run_directory.manifest import COMMAND, manifest_of
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
