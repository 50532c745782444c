"""A training run's folder: what it holds, whose files these are, whether a run may be resumed in
it, and starting over.
"""

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
# Files by which a folder of models or data is recognized.
_FOREIGN = (*MODEL_FILES, "bert_model.ckpt.index", "train.tsv")


def digest(*arrays: np.ndarray) -> str:
    """A fingerprint of arrays, for the manifest."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()[:16]


def check_results(folder: str, names: Iterable[str]) -> None:
    """InputError where a run that does not train would write over a file of somebody else's.
    Nothing is changed.

    names: of the files that it writes in addition to its report.
    """
    owned_files.check_ours(folder, (*names, REPORT))


def find_state(
    folder: str,
    manifest: dict,
    overwrite: bool,
    start: CheckpointPath | None,
    names: tuple[str, ...] = (),
    defaults: Mapping[str, Any] = MappingProxyType({}),
    strict: bool = False,
) -> str | None:
    """Prefix of the checkpoint that this run goes on from, or None for a new run.

    `manifest` is all that decides a run's result, `start` the checkpoint that a new run starts
    from, `names` the files that the task writes in addition to the files of every run; `defaults`
    what a run had that is from before a key was listed; strict: see newest_to_train. Raises
    InputError where the folder holds another run and `overwrite` is not set, or a file that the run
    would write over and that no run of ours has listed. Nothing is changed.
    """
    if start and files.resolve(start.folder) in map(files.resolve, (folder, os.path.join(folder, BEST))):
        raise InputError(
            f"--init_checkpoint={start.location} lies in --output_dir, which training writes to; use another"
        )
    latest = latest_checkpoint(folder)
    goes_on = overwrite and run_json.is_interrupted_overwriting(folder)
    if not overwrite and (run_json.read_manifest(folder, _ANEW) or {}).get(SEVERAL):
        raise InputError(f"{folder}: holds several runs; {_OTHER}")
    if not files.exists(os.path.join(folder, MANIFEST)):
        _check_no_run(folder, latest)
    if latest is None and not overwrite:
        check_no_index_lost(folder, _ANEW)
    if latest is None or (overwrite and not goes_on):
        owned_files.check_ours(folder, owned_files.written_names(manifest, names))
        return None
    listed = read_json_object(os.path.join(folder, MANIFEST), _ANEW)
    # As run.json gives it back: with lists in place of tuples, and keys of text.
    before = json.loads(json.dumps(dict(defaults))) | listed
    now = json.loads(json.dumps(manifest))
    is_other = run_json.COMMAND in before and before[run_json.COMMAND] != now.get(run_json.COMMAND)
    if is_other and not goes_on:
        raise InputError(f"{folder}: holds a run of {before[run_json.COMMAND]}; {_OTHER}")
    compared = {*before, *now} - run_json.NOT_COMPARED
    if run_json.is_longer(before, now.get(run_json.STEPS), step_number(latest)):
        compared -= run_json.GROWING
    keys = [key for key in sorted(compared) if before.get(key) != now.get(key)]
    if goes_on and (keys or is_other):
        owned_files.check_ours(folder, owned_files.written_names(manifest, names))
        return None
    if keys:
        changes = "; ".join(_change(key, before.get(key), now.get(key)) for key in keys)
        raise InputError(f"{folder}: holds another run: {changes}; {_OTHER}")
    owned_files.check_ours(folder, names)
    if goes_on:
        LOG.info(
            "%s: resuming the run that --overwrite_output_dir began and that was interrupted; remove the folder to "
            "start over", folder,
        )  # fmt: skip
    return newest_to_train(folder, strict)


def _check_no_run(folder: str, latest: str | None) -> None:
    """InputError where a folder without run.json holds files that look like a model or data."""
    for name in _FOREIGN:
        refuse_if(
            files.exists(os.path.join(folder, name)),
            f"{folder}: holds {name}, which no run of ours put there: it looks like a folder of "
            "models or data; use another --output_dir",
        )
    numbered = (name for name in files.list_directory(folder) if best_checkpoint.CHECKPOINT_FILE.fullmatch(name))
    found = os.path.basename(latest) if latest else next(numbered, None)
    refuse_if(
        found,
        f"{folder}: holds {found} but no {MANIFEST}, so it is not known which run wrote it; move "
        "it away, or use another --output_dir",
    )


def _change(key: str, before: object, now: object) -> str:
    if isinstance(before, dict) and isinstance(now, dict):
        keys = [k for k in {**before, **now} if before.get(k) != now.get(k)]
        return ", ".join(_change(f"{key}.{k}", before.get(k), now.get(k)) for k in keys)
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
    """Start a new run: remove what an earlier run of ours left, write what later runs need; other
    files are left alone.

    A task without labels has None. tokenizer_files: contents of vocab.txt, and of
    tokenizer_config.json if there is one, by name. names: as in find_state,
    which has refused a folder where any of the files to be written is somebody else's. guesses: as
    in flags.saved.write_flags.
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
    """Make the folder, or remove what earlier runs of ours left there; other files and folders are
    left alone.
    """
    files.make_directory(folder)
    remove_leftovers(folder)
    ours = cleared_names(folder)
    is_checkpoint = best_checkpoint.CHECKPOINT_FILE.fullmatch
    # Checkpoints first and the manifest last: what is left if this is stopped is still known as a
    # folder of ours.
    for name in sorted(ours, key=lambda name: (name == MANIFEST, name != STATE and not is_checkpoint(name))):
        path = os.path.join(folder, name)
        if not files.is_directory(path):
            files.remove(path)
        elif name == BEST:
            best_checkpoint.remove(folder)
    for inner in sorted({os.path.dirname(name) for name in ours} - {""}):
        path = os.path.join(folder, inner)
        if not files.is_remote(path) and not os.listdir(path):
            os.rmdir(path)


def check_sweep(folder: str, command: str, kind: str, names: tuple[str, ...], overwrite: bool) -> None:
    """InputError where this folder cannot hold folders of several runs. Nothing is changed.

    It holds another kind of run and `overwrite` is not set, or a file that would be written and
    that no run of ours has listed. kind: what of: runs, grid, folds. names: of the files that are
    written into this folder.
    """
    before = None if overwrite else run_json.read_manifest(folder, _ANEW)
    if before is not None and (before.get(run_json.COMMAND), before.get(SEVERAL)) != (command, kind):
        raise InputError(f"{folder}: holds another run; {_OTHER}")
    if not files.exists(os.path.join(folder, MANIFEST)):
        _check_no_run(folder, latest_checkpoint(folder))
    owned_files.check_ours(folder, (MANIFEST, *names))


def begin_sweep(folder: str, command: str, kind: str, names: tuple[str, ...], overwrite: bool) -> None:
    """Let the folder, which check_sweep has passed, have a run.json of its own; files of another
    run of ours go.
    """
    if overwrite or run_json.read_manifest(folder, _ANEW) is None:
        clear(folder)
    manifest: dict = {run_json.COMMAND: command, SEVERAL: kind, "config": {}}
    manifest |= {run_json.OVERWRITING: True} if overwrite else {}
    listed = list(dict.fromkeys([MANIFEST, REPORT, *names]))
    write_json(os.path.join(folder, MANIFEST), manifest | {run_json.FILES: listed})


def update_manifest(folder: str, manifest: dict, names: tuple[str, ...]) -> None:
    """Bring run.json up to date where a run goes on: what may change in it (its length), and the
    files that it owns.
    """
    before = run_json.read_manifest(folder) or {}
    listed = before.get(run_json.FILES, list(owned_files.OF_OLDER_RUNS))
    after = manifest | {run_json.FILES: list(dict.fromkeys([*listed, *owned_files.written_names(manifest, names)]))}
    if json.loads(json.dumps(after)) != before:
        write_json(os.path.join(folder, MANIFEST), after)


def drop_unwritten(folder: str) -> None:
    """Leave in the list of run.json the files that there are: names for results that the run did
    not write are free again.
    """
    manifest = run_json.read_manifest(folder) or {}
    listed = manifest.get(run_json.FILES)
    if not isinstance(listed, list):
        return
    present = owned_files.present_names(folder, listed)
    written = [name for name in listed if name in present]
    if written != listed:
        write_json(os.path.join(folder, MANIFEST), manifest | {run_json.FILES: written})


def remove_leftovers(folder: str) -> None:
    """Remove the half-written files of a run of ours that was killed, of its best/ too."""
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
        # Checkpoints are written in a hidden folder of their own; one with other files may be
        # somebody else's.
        elif all(best_checkpoint.CHECKPOINT_FILE.match(inner) for inner in files.list_directory(path)):
            try:
                shutil.rmtree(path)
            except OSError as error:
                raise InputError(f"{path}: cannot be removed: {error.strerror}") from None


def write_report(folder: str, report: dict, names: tuple[str, ...] = ()) -> None:
    """Write run_report.json; what an earlier run of the same folder reported, such as its training,
    stays in it.

    names: of the files that this run may have written; those that no run.json lists are listed
    here, and so known as ours.
    """
    before = run_json.read_report(folder) or {}
    manifest = run_json.read_manifest(folder)
    listed = owned_files.listed_names(manifest, owned_files.OF_OLDER_RUNS) if manifest else set()
    written = {name for name in names if files.exists(os.path.join(folder, name))}
    unlisted = (owned_files.listed_names(before, ()) | written) - listed
    after = before | report | ({run_json.FILES: sorted(unlisted)} if unlisted else {})
    write_json(os.path.join(folder, REPORT), after)


def model_manifest(
    config: BertConfig | ModuleConfig, vocabulary: bytes | None, tokenizer: dict[str, Any], start: CheckpointPath | None
) -> dict:
    """Return the model's entries of a manifest.

    Args:
        config: the config of the model.
        vocabulary: the contents of its vocab.txt.
        tokenizer: settings of its tokenizer that differ from Google's.
        start: the model that a new run starts from.
    """
    entries = {
        "init_checkpoint": start.identity if start else None,
        "config": config.values(),
        "vocabulary": None if vocabulary is None else run_json.vocabulary_digest(vocabulary),
    }
    return entries | ({run_json.TOKENIZER: tokenizer} if tokenizer else {})
