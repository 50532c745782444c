"""run.json, a training run's manifest: the settings that decide its result, and its length.

A larger --num_train_epochs or --num_train_steps extends a finished run, also one that was stopped
early. A new learning-rate schedule then leads from its last step to the new end, with the same peak
and the same share of warmup. A killed run resumes with its old schedule. If the manifest does not
compare the number of steps (bert-pretrain), this schedule is stretched to the new end.
"""

import dataclasses
import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names
from bert_cli.base.json_files import read_json_object
from bert_cli.base.log import LOG
from bert_cli.base.names import CONFIG, LABELS, MANIFEST, VOCABULARY
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.weights.path import CheckpointPath, content_digest, hugging_face_hub_digest

# Keys of run.json.
COMMAND = "command"  # the command that made the run
FILES = "files"  # names of files that the run owns
TOKENIZER = "tokenizer"  # tokenizer settings that differ from Google's
START = "init_checkpoint"  # the model that the run started from
START_DIGEST = "init_checkpoint_digest"  # recognizes this model in another directory
START_SHA256 = "init_checkpoint_sha256"  # for a model of the hub
LABEL_TYPE = "label_type"  # type of labels in a Python program, if they are no texts
OVERWRITING = "overwriting"  # whether the run was started by --overwrite_output_dir
# Number of steps, the learning-rate schedule's first step, and the last step if the run was stopped
# early.
STEPS, PLAN_FROM, STOPPED = "steps", "plan_from", "stopped_at"
_ADVICE = "restore it, or move it away and go on without it"
# Keys that may differ when a run is resumed.
_NOT_COMPARED = {
    COMMAND, FILES, LABEL_TYPE, START_DIGEST, START_SHA256, OVERWRITING, STEPS, PLAN_FROM, STOPPED,
}  # fmt: skip
# Keys that may differ when a run is extended.
_EXTENDABLE = {"num_train_epochs"}


def read_manifest(path: str, advice: str = _ADVICE) -> dict | None:
    """Return the manifest in a run.json; None if there is no run.json of ours.

    Args:
        path: the file.
        advice: advice used at the end of error messages.

    Raises:
        InputError: if the file is damaged.
    """
    if not files.exists(path):
        return None
    values = read_json_object(path, advice)
    return values if isinstance(values.get("config"), dict) else None


def digest(*arrays: np.ndarray) -> str:
    """Return a digest of arrays, which the manifest uses to recognize the training data."""
    sha256 = hashlib.sha256()
    for array in arrays:
        sha256.update(np.ascontiguousarray(array).data)
    return sha256.hexdigest()[:16]


def vocabulary_digest(vocabulary: bytes) -> str:
    """Return a digest for the contents of vocab.txt."""
    return hashlib.sha256(vocabulary).hexdigest()[:16]


def model_manifest(
    config: BertConfig | ModuleConfig, vocabulary: bytes | None, tokenizer: dict[str, Any], start: CheckpointPath | None
) -> dict:
    """Return the manifest's entries that describe the model.

    Args:
        vocabulary: contents of vocab.txt; None for a model without vocabulary.
        tokenizer: tokenizer settings that differ from Google's.
        start: model that a new run starts from; None for random weights.
    """
    entries = {
        START: start.identity if start else None,
        "config": config.values(),
        "vocabulary": None if vocabulary is None else vocabulary_digest(vocabulary),
    }
    start_digest = content_digest(start) if start else None
    entries |= {START_DIGEST: start_digest} if start_digest else {}
    start_sha256 = hugging_face_hub_digest(start) if start else None
    entries |= {START_SHA256: start_sha256} if start_sha256 else {}
    return entries | ({TOKENIZER: tokenizer} if tokenizer else {})


def manifest_of(checkpoint: CheckpointPath) -> dict:
    """Return the manifest of the run that made a checkpoint; {} if no run of ours made it."""
    return read_manifest(os.path.join(checkpoint.folder, MANIFEST)) or {}


def _manifest_beside(path: str, checkpoint: CheckpointPath | None, name: str) -> dict:
    """Return the manifest next to a model file, if the file belongs to the checkpoint's run.

    Args:
        path: model file that is being checked.
        checkpoint: checkpoint that is loaded, or None.
        name: the file's name in a run directory.

    Returns:
        The manifest, or {} if the file is not in the checkpoint's directory or no run wrote it.
    """
    if checkpoint and files.make_absolute(path) == files.make_absolute(os.path.join(checkpoint.folder, name)):
        return manifest_of(checkpoint)
    return {}


def check_vocabulary(path: str | None, checkpoint: CheckpointPath | None) -> None:
    """Raise InputError if a run's vocab.txt has changed since the run was trained."""
    digest = _manifest_beside(path, checkpoint, VOCABULARY).get("vocabulary") if path else None
    if path and digest and digest != vocabulary_digest(files.read_bytes(path)):
        raise InputError(
            f"{path}: {_changed_problem('vocabulary')}; restore it, or give the right one with --vocab_file"
        )


def check_same_labels(labels: tuple[str, ...], checkpoint: CheckpointPath) -> None:
    """Raise InputError if the labels in a run's labels.txt have changed since it was trained."""
    trained_labels = manifest_of(checkpoint).get("labels")
    if isinstance(trained_labels, list) and trained_labels != list(labels):
        raise InputError(
            f"{os.path.join(checkpoint.folder, LABELS)}: {_changed_problem('list of labels')} "
            f"({list_names(list(map(str, trained_labels)))}); write these into it, one a line, in this order"
        )


def check_config(
    config: BertConfig | ModuleConfig, path: str, checkpoint: CheckpointPath | None, ignored_keys: Sequence[str] = ()
) -> None:
    """Raise InputError if a run's bert_config.json has changed since the run was trained.

    Args:
        config: the config from the file.
        path: path of that file.
        checkpoint: checkpoint that is loaded, or None.
        ignored_keys: keys that may differ.
    """
    before = _manifest_beside(path, checkpoint, CONFIG).get("config", {})
    # run.json lacks keys that a BERT does not have, see BertConfig.values.
    for key, now in dataclasses.asdict(config).items():
        if key in before and key not in ignored_keys and now != before[key]:
            raise InputError(
                f"{path}: {key} is {now}, but was {before[key]} when the model was trained "
                f"({MANIFEST}); restore it, or give the right one with --bert_config_file"
            )


def _changed_problem(noun: str) -> str:
    return f"is not the {noun} that the model was trained with ({MANIFEST})"


def describe_changes(before: Mapping[str, Any], now: Mapping[str, Any], done: int) -> list[str]:
    """Describe the values that make `now` another run than `before`; [] for the same run.

    Args:
        before: the run's run.json.
        now: manifest of a new call, as run.json would contain it.
        done: the run's last step.
    """
    compared = {*before, *now} - _NOT_COMPARED
    if is_longer(before, now.get(STEPS), done):
        compared -= _EXTENDABLE
    keys = [key for key in sorted(compared) if before.get(key) != now.get(key)]
    return [_change(key, before.get(key), now.get(key)) for key in keys]


def _change(key: str, before: object, now: object) -> str:
    if isinstance(before, dict) and isinstance(now, dict):
        keys = [inner_key for inner_key in {**before, **now} if before.get(inner_key) != now.get(inner_key)]
        return ", ".join(_change(f"{key}.{inner_key}", before.get(inner_key), now.get(inner_key)) for inner_key in keys)
    texts = [",".join(map(str, value)) if isinstance(value, list) else str(value) for value in (before, now)]
    return f"{key} was {texts[0]}, is now {texts[1]}"


def is_longer(before: Mapping[str, Any], steps: int | None, done: int) -> bool:
    """Return whether `steps` extends a finished run.

    Args:
        before: the run's run.json. Without its length, the run does not count as finished.
        steps: new number of steps, or None.
        done: the run's last step.
    """
    total_steps = before.get(STEPS)
    end = before.get(STOPPED, total_steps)
    return (
        isinstance(total_steps, int)
        and isinstance(end, int)
        and steps is not None
        and done >= end
        and steps > total_steps
    )


def schedule_start(before: Mapping[str, Any], steps: int, done: int) -> int:
    """Return the learning-rate schedule's first step, and log if the schedule changes.

    Args:
        before: the run's run.json.
        steps: new number of steps.
        done: the run's last step.
    """
    if is_longer(before, steps, done):
        LOG.info("the run is extended from %d to %d steps: a new learning-rate schedule begins here", done, steps)
        return done
    if done < steps != before.get(STEPS, steps):
        LOG.info("the run has %d steps now, %d before: its learning-rate schedule is stretched", steps, before[STEPS])
    # Ignore an impossible start: run.json may be edited by hand.
    start = before.get(PLAN_FROM, 0)
    return start if isinstance(start, int) and start < steps else 0


def schedule_warmup(warmup_steps: int, steps: int, first_step: int) -> int:
    """Return the warmup steps for a schedule that starts late, with an unchanged share of warmup.

    Args:
        warmup_steps: warmup steps if the schedule starts at step 0.
        steps: number of steps in the whole training.
        first_step: the schedule's first step.
    """
    return warmup_steps * (steps - first_step) // max(1, steps)
