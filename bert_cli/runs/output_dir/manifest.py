"""run.json, the manifest of a training run: what decided its result, and how long it is.

A finished run, also one that was stopped early, is extended by a larger --num_train_epochs or
--num_train_steps: a new learning-rate plan leads from its last step to the new end, with a warmup
of the same share as before and the same peak. A run that was killed half-way goes on with the plan
that it began; where its steps do not decide what run it is (bert-pretrain), that plan takes the new
number for its end.
"""

import dataclasses
import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.json_files import parse_json, read_json_object
from bert_cli.base.lines import read_text
from bert_cli.base.log import LOG
from bert_cli.base.messages import list_names
from bert_cli.base.names import CONFIG, LABELS, MANIFEST, REPORT, VOCABULARY
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.weights.path import CheckpointPath

COMMAND = "command"  # the key of the command that made the run
FILES = "files"  # the key of the names of the files that a run owns
TOKENIZER = "tokenizer"  # the key of tokenizer settings that differ from Google's
OVERWRITING = "overwriting"  # the key of a run that --overwrite_output_dir began
_ADVICE = "restore it, or move it away and go on without it"


def read_manifest(folder: str, advice: str = _ADVICE) -> dict | None:
    """The manifest of the run that a folder holds; None where there is none, or a run.json of
    somebody else's.

    InputError, which ends in `advice`, where run.json is damaged.
    """
    path = os.path.join(folder, MANIFEST)
    if not files.exists(path):
        return None
    values = read_json_object(path, advice)
    return values if isinstance(values.get("config"), dict) else None


def vocabulary_digest(vocabulary: bytes) -> str:
    """Return the digest of the contents of a vocab.txt."""
    return hashlib.sha256(vocabulary).hexdigest()[:16]


def _manifest_beside(path: str, checkpoint: CheckpointPath | None, name: str) -> dict:
    """The manifest of the checkpoint's run, if the run left it there; {} for a checkpoint that was
    given.
    """
    if checkpoint and files.make_absolute(path) == files.make_absolute(os.path.join(checkpoint.folder, name)):
        return read_manifest(checkpoint.folder) or {}
    return {}


def check_vocabulary(path: str | None, checkpoint: CheckpointPath | None) -> None:
    """InputError where a run's vocab.txt is not any more what the run was trained with."""
    wanted = _manifest_beside(path, checkpoint, VOCABULARY).get("vocabulary") if path else None
    if path and wanted and wanted != vocabulary_digest(files.read_bytes(path)):
        raise InputError(f"{path}: {_changed('vocabulary')}; restore it, or give the right one with --vocab_file")


def check_labels(labels: tuple[str, ...], checkpoint: CheckpointPath) -> None:
    """InputError where a run's labels.txt does not hold the labels that the run was trained with."""
    wanted = (read_manifest(checkpoint.folder) or {}).get("labels")
    if isinstance(wanted, list) and wanted != list(labels):
        raise InputError(
            f"{os.path.join(checkpoint.folder, LABELS)}: {_changed('list of labels')} "
            f"({list_names(list(map(str, wanted)))}); write these into it, one a line, in this order"
        )


def check_config(
    config: BertConfig | ModuleConfig, path: str, checkpoint: CheckpointPath | None, left_out: Sequence[str] = ()
) -> None:
    """InputError where a run's bert_config.json, read as `config`, says something else than when
    the run was trained.

    left_out: keys that may differ.
    """
    before = _manifest_beside(path, checkpoint, CONFIG).get("config", {})
    # A key that run.json lacks came with a later version, whose default is what the run had.
    for key, now in dataclasses.asdict(config).items():
        if key in before and key not in left_out and now != before[key]:
            raise InputError(
                f"{path}: {key} is {now}, but was {before[key]} when the model was trained "
                f"({MANIFEST}); restore it, or give the right one with --bert_config_file"
            )


def _changed(what: str) -> str:
    return f"is not the {what} that the model was trained with ({MANIFEST})"


# Keys of run.json: steps in all, the step that the learning-rate plan begins at, and where a run
# was stopped early.
STEPS, PLAN_FROM, STOPPED = "steps", "plan_from", "stopped_at"
NOT_COMPARED = {COMMAND, FILES, OVERWRITING, STEPS, PLAN_FROM, STOPPED}  # two runs may differ in these, and be the same
GROWING = {"num_train_epochs"}  # what may be another value where a run is made longer


def is_longer(before: Mapping[str, Any], steps: int | None, done: int) -> bool:
    """Whether `steps` in all make a finished run longer.

    before: its run.json; without the length of the run it is not known whether it is finished.
    done: its last step.
    """
    whole = before.get(STEPS)
    end = before.get(STOPPED, whole)
    return isinstance(whole, int) and isinstance(end, int) and steps is not None and done >= end and steps > whole


def plan_start(before: Mapping[str, Any], steps: int, done: int) -> int:
    """The step at which the learning-rate plan begins; arguments as in `is_longer`. The log says
    where it is a new one.
    """
    if is_longer(before, steps, done):
        LOG.info("the run is extended from %d to %d steps: a new learning-rate schedule begins here", done, steps)
        return done
    if done < steps != before.get(STEPS, steps):
        LOG.info("the run has %d steps now, %d before: its learning-rate schedule is stretched", steps, before[STEPS])
    # run.json may be edited by hand, or of an older version: a start that makes no sense counts as
    # none.
    start = before.get(PLAN_FROM, 0)
    return start if isinstance(start, int) and start < steps else 0


def plan_warmup(warmup_steps: int, steps: int, first_step: int) -> int:
    """Warmup of a plan that begins at first_step: the same share of its steps as warmup_steps of
    all steps.
    """
    return warmup_steps * (steps - first_step) // steps


def read_report(folder: str) -> dict | None:
    """The report of an earlier run; None where there is none, or a run_report.json that no run of
    ours wrote.
    """
    path = os.path.join(folder, REPORT)
    if not files.exists(path) or files.is_directory(path):
        return None
    try:
        values = parse_json(read_text(path), path)
    except InputError:  # not ours: these are written whole
        return None
    return values if isinstance(values, dict) and "total_seconds" in values else None


def manifest_even_damaged(folder: str) -> dict | None:
    """As read_manifest, but {} for a run.json that cannot be read, as --overwrite_output_dir is the
    way out of it.
    """
    try:
        return read_manifest(folder)
    except InputError:
        return {}


def is_interrupted_overwriting(folder: str) -> bool:
    """Whether the folder holds a run, or several runs, that --overwrite_output_dir began and that
    has not ended.

    The same command then goes on with it: the overwriting has happened already.
    """
    manifest = manifest_even_damaged(folder)
    return bool(manifest and manifest.get(OVERWRITING)) and read_report(folder) is None
