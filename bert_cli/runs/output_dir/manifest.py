"""run.json, the manifest of a training run: what decided its result, and which files of its folder are its own."""

import dataclasses
import hashlib
import os
from collections.abc import Sequence

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.json_files import read_json_object
from bert_cli.base.names import CONFIG, LABELS, MANIFEST, VOCABULARY
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.weights.path import CheckpointPath

COMMAND = "command"  # the key of the command that made the run
SEVERAL = "several"  # the key of what kind of runs stand in folders within this one
FILES = "files"  # the key of the names of the files that a run owns
_ADVICE = "restore it, or move it away and go on without it"


def read_manifest(folder: str, advice: str = _ADVICE) -> dict | None:
    """The manifest of the run that a folder holds; None where there is none, or a run.json of somebody else's.

    InputError, which ends in `advice`, where run.json is damaged.
    """
    path = os.path.join(folder, MANIFEST)
    if not files.exists(path):
        return None
    values = read_json_object(path, advice)
    return values if isinstance(values.get("config"), dict) else None


def vocabulary_digest(vocab_file: str) -> str:
    return hashlib.sha256(files.read_bytes(vocab_file)).hexdigest()[:16]


def _folder_of_run(path: str, checkpoint: CheckpointPath | None, name: str) -> str | None:
    """The folder of the checkpoint, if a file is the one that a run left there; None for one that was given."""
    if checkpoint and files.absolute(path) == files.absolute(os.path.join(checkpoint.folder, name)):
        return checkpoint.folder
    return None


def check_vocabulary(path: str | None, checkpoint: CheckpointPath | None) -> None:
    """InputError where a run's vocab.txt is not any more what the run was trained with."""
    folder = _folder_of_run(path, checkpoint, VOCABULARY) if path else None
    manifest = read_manifest(folder) if folder else None
    wanted = manifest.get("vocabulary") if manifest else None
    if path and wanted and wanted != vocabulary_digest(path):
        raise InputError(f"{path}: {_changed('vocabulary')}; restore it, or give the right one with --vocab_file")


def check_labels(labels: tuple[str, ...], checkpoint: CheckpointPath) -> None:
    """InputError where a run's labels.txt does not hold the labels that the run was trained with."""
    manifest = read_manifest(checkpoint.folder)
    wanted = manifest.get("labels") if manifest else None
    if isinstance(wanted, list) and wanted != list(labels):
        named = ", ".join(map(str, wanted[:10])) + (", …" if len(wanted) > 10 else "")
        raise InputError(
            f"{os.path.join(checkpoint.folder, LABELS)}: {_changed('list of labels')} ({named}); write these into it, one a "
            "line, in this order"
        )


def check_config(
    config: BertConfig | ModuleConfig, path: str, checkpoint: CheckpointPath | None, left_out: Sequence[str] = ()
) -> None:
    """InputError where a run's bert_config.json, read as `config`, says something else than when the run was trained.

    left_out: keys that may differ.
    """
    folder = _folder_of_run(path, checkpoint, CONFIG)
    manifest = read_manifest(folder) if folder else None
    if manifest is None:
        return
    now, before = dataclasses.asdict(config), manifest["config"]
    changed = [key for key in now if key in before and key not in left_out and now[key] != before[key]]
    if changed:
        key = changed[0]
        raise InputError(
            f"{path}: {key} is {now[key]}, but was {before[key]} when the model was trained ({MANIFEST}); restore it, or give "
            "the right one with --bert_config_file"
        )


def _changed(what: str) -> str:
    return f"is not the {what} that the model was trained with ({MANIFEST})"
