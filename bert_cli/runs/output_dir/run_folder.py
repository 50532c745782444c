"""A training run's directory: starting a run in it, resuming one, and cleaning up."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import read_json_object
from bert_cli.base.log import LOG
from bert_cli.base.names import BEST, CONFIG, FLAGS, LABELS, MANIFEST, MODEL_FILES, REPORT, SEVERAL, STATE
from bert_cli.base.writing import LEFTOVER, atomic_write, write_json, write_lines
from bert_cli.flags.saved import write_flags
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.model.config_files import write_config
from bert_cli.runs.output_dir import best_checkpoint, owned_files
from bert_cli.runs.output_dir import manifest as run_json
from bert_cli.runs.output_dir.inputs import cleared_names
from bert_cli.weights.path import CheckpointPath
from bert_cli.weights.training_folder import check_no_index_lost, latest_checkpoint, newest_to_train, step_number

_ANEW = "--overwrite_output_dir starts over"
_OTHER = "use another --output_dir to keep both, or --overwrite_output_dir to start over"
# A directory with one of these files, but without run.json, holds models or data.
_FOREIGN = (*MODEL_FILES, "bert_model.ckpt.index", "train.tsv")


def digest(*arrays: np.ndarray) -> str:
    """Return a digest of arrays, which the manifest uses to recognize the training data."""
    sha256 = hashlib.sha256()
    for array in arrays:
        sha256.update(np.ascontiguousarray(array).data)
    return sha256.hexdigest()[:16]


def check_results(folder: str, names: Iterable[str]) -> None:
    """Raise InputError if a report or one of `names` exists that our runs did not write."""
    owned_files.check_owned(folder, (*names, REPORT))


def find_state(
    folder: str,
    manifest: dict,
    overwrite: bool,
    start: CheckpointPath | None,
    names: tuple[str, ...] = (),
    defaults: Mapping[str, Any] = MappingProxyType({}),
    strict: bool = False,
) -> str | None:
    """Find the checkpoint that this run resumes, without changing anything.

    Args:
        folder: run directory.
        manifest: everything that decides the run's result.
        overwrite: value of --overwrite_output_dir.
        start: model that a new run starts from; None for random weights.
        names: files that are specific to the task.
        defaults: values used for keys that an older run.json lacks.
        strict: see newest_to_train.

    Returns:
        The checkpoint's prefix; None for a new run.

    Raises:
        InputError: if the directory holds another run and `overwrite` is False, or if this run
            would replace a file that our runs did not write.
    """
    if start and files.resolve(start.folder) in map(files.resolve, (folder, os.path.join(folder, BEST))):
        raise InputError(
            f"--init_checkpoint={start.location} lies in --output_dir, which training writes to; use another"
        )
    latest = latest_checkpoint(folder)
    resumes_overwriting = overwrite and run_json.is_interrupted_overwriting(folder)
    if not overwrite and (run_json.read_manifest(folder, _ANEW) or {}).get(SEVERAL):
        raise InputError(f"{folder}: holds several runs; {_OTHER}")
    if not files.exists(os.path.join(folder, MANIFEST)):
        _check_no_run(folder, latest)
    if latest is None and not overwrite:
        check_no_index_lost(folder, _ANEW)
    if latest is None or (overwrite and not resumes_overwriting):
        owned_files.check_owned(folder, owned_files.written_names(manifest, names))
        return None
    listed = read_json_object(os.path.join(folder, MANIFEST), _ANEW)
    # Convert the values to JSON and back as for run.json: tuples become lists, and keys text.
    before = json.loads(json.dumps(dict(defaults))) | listed
    now = json.loads(json.dumps(manifest))
    is_other_command = run_json.COMMAND in before and before[run_json.COMMAND] != now.get(run_json.COMMAND)
    if is_other_command and not resumes_overwriting:
        raise InputError(f"{folder}: holds a run of {before[run_json.COMMAND]}; {_OTHER}")
    compared = {*before, *now} - run_json.NOT_COMPARED
    if run_json.is_longer(before, now.get(run_json.STEPS), step_number(latest)):
        compared -= run_json.EXTENDABLE
    keys = [key for key in sorted(compared) if before.get(key) != now.get(key)]
    if resumes_overwriting and (keys or is_other_command):
        owned_files.check_owned(folder, owned_files.written_names(manifest, names))
        return None
    if keys:
        changes = "; ".join(_change(key, before.get(key), now.get(key)) for key in keys)
        raise InputError(f"{folder}: holds another run: {changes}; {_OTHER}")
    owned_files.check_owned(folder, names)
    if resumes_overwriting:
        LOG.info(
            "%s: resuming the run that --overwrite_output_dir began and that was interrupted; remove the folder to "
            "start over", folder,
        )  # fmt: skip
    return newest_to_train(folder, strict)


def _check_no_run(folder: str, latest: str | None) -> None:
    """Raise InputError if a directory without run.json holds a model, data or checkpoints."""
    for name in _FOREIGN:
        refuse_if(
            files.exists(os.path.join(folder, name)),
            f"{folder}: holds {name}, which no run of ours put there: it looks like a folder of "
            "models or data; use another --output_dir",
        )
    numbered = (name for name in files.list_directory(folder) if best_checkpoint.CHECKPOINT_FILE.fullmatch(name))
    checkpoint = os.path.basename(latest) if latest else next(numbered, None)
    refuse_if(
        checkpoint,
        f"{folder}: holds {checkpoint} but no {MANIFEST}, so it is not known which run wrote it; move "
        "it away, or use another --output_dir",
    )


def _change(key: str, before: object, now: object) -> str:
    if isinstance(before, dict) and isinstance(now, dict):
        keys = [inner_key for inner_key in {**before, **now} if before.get(inner_key) != now.get(inner_key)]
        return ", ".join(_change(f"{key}.{inner_key}", before.get(inner_key), now.get(inner_key)) for inner_key in keys)
    texts = [",".join(map(str, value)) if isinstance(value, list) else str(value) for value in (before, now)]
    return f"{key} was {texts[0]}, is now {texts[1]}"


def begin(
    folder: str,
    manifest: dict,
    labels: tuple[str, ...] | None,
    config: BertConfig | ModuleConfig,
    tokenizer_files: Mapping[str, bytes],
    flags: dict,
    names: tuple[str, ...] = (),
    guesses: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Start a new run: remove the files of earlier runs, and write its manifest and model files.

    Other files stay. `find_state` must have accepted the directory.

    Args:
        labels: label names; None for a task without labels.
        tokenizer_files: file name -> contents of vocab.txt, and of tokenizer_config.json if there
            is one.
        flags, guesses: see flags.saved.write_flags.
        names: files that are specific to the task.
    """
    clear(folder)
    write_json(os.path.join(folder, MANIFEST), manifest | {run_json.FILES: owned_files.written_names(manifest, names)})
    if labels is not None:
        write_lines(os.path.join(folder, LABELS), labels)
    for name, contents in tokenizer_files.items():
        with atomic_write(os.path.join(folder, name), "wb") as file:
            file.write(contents)
    write_config(os.path.join(folder, CONFIG), config)
    write_flags(os.path.join(folder, FLAGS), flags, guesses)


def clear(folder: str) -> None:
    """Make the directory, or remove the files of our earlier runs from it. Other files stay."""
    files.make_directory(folder)
    remove_leftovers(folder)
    ours = cleared_names(folder)
    is_checkpoint = best_checkpoint.CHECKPOINT_FILE.fullmatch
    # Remove checkpoints first and the manifest last: if this is interrupted, the directory is still
    # recognized as ours.
    for name in sorted(ours, key=lambda name: (name == MANIFEST, name != STATE and not is_checkpoint(name))):
        path = os.path.join(folder, name)
        if not files.is_directory(path):
            files.remove(path)
        elif name == BEST:
            best_checkpoint.remove(folder)
    for subfolder in sorted({os.path.dirname(name) for name in ours} - {""}):
        path = os.path.join(folder, subfolder)
        if not files.is_remote(path) and not os.listdir(path):
            os.rmdir(path)


def check_sweep(folder: str, command: str, sweep_type: str, names: tuple[str, ...], overwrite: bool) -> None:
    """Check that a directory can hold the subdirectories of several runs; change nothing.

    Args:
        sweep_type: for example "runs", "grid" or "folds".
        names: files that are written into this directory.
        overwrite: value of --overwrite_output_dir.

    Raises:
        InputError: if the directory holds another type of run and `overwrite` is False, or a file
            that would be replaced and was not written by our runs.
    """
    before = None if overwrite else run_json.read_manifest(folder, _ANEW)
    if before is not None and (before.get(run_json.COMMAND), before.get(SEVERAL)) != (command, sweep_type):
        raise InputError(f"{folder}: holds another run; {_OTHER}")
    if not files.exists(os.path.join(folder, MANIFEST)):
        _check_no_run(folder, latest_checkpoint(folder))
    owned_files.check_owned(folder, (MANIFEST, *names))


def begin_sweep(folder: str, command: str, sweep_type: str, names: tuple[str, ...], overwrite: bool) -> None:
    """Write run.json into a sweep directory, and remove other runs; arguments: see `check_sweep`."""
    if overwrite or run_json.read_manifest(folder, _ANEW) is None:
        clear(folder)
    manifest: dict = {run_json.COMMAND: command, SEVERAL: sweep_type, "config": {}}
    manifest |= {run_json.OVERWRITING: True} if overwrite else {}
    listed = list(dict.fromkeys([MANIFEST, REPORT, *names]))
    write_json(os.path.join(folder, MANIFEST), manifest | {run_json.FILES: listed})


def update_manifest(folder: str, manifest: dict, names: tuple[str, ...]) -> None:
    """Update `folder`'s run.json when a run is resumed: new `manifest`, and new task files `names`."""
    before = run_json.read_manifest(folder) or {}
    listed = before.get(run_json.FILES, list(owned_files.FILES_OF_OLDER_RUNS))
    after = manifest | {run_json.FILES: list(dict.fromkeys([*listed, *owned_files.written_names(manifest, names)]))}
    if json.loads(json.dumps(after)) != before:
        write_json(os.path.join(folder, MANIFEST), after)


def drop_unwritten(folder: str) -> None:
    """Drop missing files from the list in run.json, so that other programs can use their names."""
    manifest = run_json.read_manifest(folder) or {}
    listed = manifest.get(run_json.FILES)
    if not isinstance(listed, list):
        return
    present = owned_files.present_names(folder, listed)
    written = [name for name in listed if name in present]
    if written != listed:
        write_json(os.path.join(folder, MANIFEST), manifest | {run_json.FILES: written})


def remove_leftovers(folder: str) -> None:
    """Remove half-written files of killed runs, also from best/."""
    owned = owned_files.owned_names(folder)
    if MANIFEST not in owned:
        return
    if BEST in owned:
        remove_leftovers(os.path.join(folder, BEST))
    for name in files.list_directory(folder):
        path = os.path.join(folder, name)
        if not LEFTOVER.fullmatch(name):
            continue
        if not files.is_directory(path):
            files.remove(path)
        # A checkpoint is written in a hidden directory. One with other files may not be ours.
        elif all(best_checkpoint.CHECKPOINT_FILE.match(file) for file in files.list_directory(path)):
            try:
                shutil.rmtree(path)
            except OSError as error:
                raise InputError(f"{path}: cannot be removed: {error.strerror}") from None


def write_report(folder: str, report: dict, names: tuple[str, ...] = ()) -> None:
    """Update run_report.json. Entries of earlier runs, such as the training time, stay in it.

    Args:
        report: entries of this run.
        names: files that this run may have written. The report lists those that run.json does not,
            which makes them known as ours.
    """
    before = run_json.read_report(folder) or {}
    manifest = run_json.read_manifest(folder)
    listed = owned_files.listed_names(manifest, owned_files.FILES_OF_OLDER_RUNS) if manifest else set()
    written = {name for name in names if files.exists(os.path.join(folder, name))}
    unlisted = (owned_files.listed_names(before, ()) | written) - listed
    after = before | report | ({run_json.FILES: sorted(unlisted)} if unlisted else {})
    write_json(os.path.join(folder, REPORT), after)


def model_manifest(
    config: BertConfig | ModuleConfig, vocabulary: bytes | None, tokenizer: dict[str, Any], start: CheckpointPath | None
) -> dict:
    """Return the manifest's entries that describe the model.

    Args:
        config: the model's config.
        vocabulary: contents of vocab.txt; None for a model without vocabulary.
        tokenizer: tokenizer settings that differ from Google's.
        start: model that a new run starts from; None for random weights.
    """
    entries = {
        "init_checkpoint": start.identity if start else None,
        "config": config.values(),
        "vocabulary": None if vocabulary is None else run_json.vocabulary_digest(vocabulary),
    }
    return entries | ({run_json.TOKENIZER: tokenizer} if tokenizer else {})
