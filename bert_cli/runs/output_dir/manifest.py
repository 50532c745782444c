"""run.json, the manifest of a training run: what decided its result, which files are its own, and how long it is.

A finished run, also one that was stopped early, is extended by a larger --num_train_epochs or --num_train_steps: a new
learning-rate plan leads from its last step to the new end, with a warmup of the same share as before and the same peak. A
run that was killed half-way goes on with the plan that it began; where its steps do not decide what run it is
(bert-pretrain), that plan takes the new number for its end.
"""

import dataclasses
import hashlib
import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.json_files import read_json_object
from bert_cli.base.names import CONFIG, LABELS, MANIFEST, VOCABULARY
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.weights.path import CheckpointPath

LOG = logging.getLogger("bert_cli")
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


# Keys of run.json: steps in all, the step that the learning-rate plan begins at, and where a run was stopped early.
STEPS, PLAN_FROM, STOPPED = "steps", "plan_from", "stopped_at"
OF_LENGTH = (STEPS, PLAN_FROM, STOPPED)
GROWING = ("num_train_epochs",)  # what may be another value where a run is made longer


def is_longer(before: Mapping[str, Any], steps: int | None, done: int) -> bool:
    """Whether `steps` in all make a finished run longer.

    before: its run.json; one that does not say how long the run is cannot be told to be finished. done: its last step.
    """
    whole = before.get(STEPS)
    end = before.get(STOPPED, whole)
    return isinstance(whole, int) and isinstance(end, int) and steps is not None and done >= end and steps > whole


def plan_start(before: Mapping[str, Any], steps: int, done: int) -> int:
    """The step at which the learning-rate plan begins; arguments as in `is_longer`. The log says where it is a new one."""
    if is_longer(before, steps, done):
        LOG.info("the run is made longer, from %d to %d steps: a new learning-rate plan begins here", done, steps)
        return done
    if done < steps != before.get(STEPS, steps):
        LOG.info("the run has %d steps now, %d before: its learning-rate plan is stretched", steps, before[STEPS])
    start = before.get(PLAN_FROM, 0)
    return start if isinstance(start, int) and start < steps else 0


def plan_warmup(warmup_steps: int, steps: int, first_step: int) -> int:
    """Warmup of a plan that begins at first_step: the same share of its steps as warmup_steps of all steps."""
    return warmup_steps * (steps - first_step) // steps
