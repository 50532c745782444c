"""Owned files in a run directory: those that our runs list in run.json and in the report."""

import os
from collections.abc import Iterable

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.names import (
    BEST,
    LABELS,
    MANIFEST,
    REPORT,
    RESULT_FILES,
    RUN_FILES,
    STATE,
    TOKENIZER_CONFIG,
    VOCABULARY,
)
from bert_cli.runs.output_dir.manifest import FILES, TOKENIZER, read_manifest_or_empty, read_report

# Files that older runs own, which do not list them in run.json.
FILES_OF_OLDER_RUNS = (*RUN_FILES, LABELS, VOCABULARY, *RESULT_FILES)


def written_names(manifest: dict, names: Iterable[str]) -> list[str]:
    """Return the file names that a run owns, without checkpoints.

    Args:
        manifest: the run's manifest.
        names: files that are specific to the task.
    """
    has = {LABELS: manifest.get("labels") is not None, VOCABULARY: manifest.get("vocabulary") is not None}
    has[TOKENIZER_CONFIG] = TOKENIZER in manifest
    return [*RUN_FILES, *(name for name in has if has[name]), *names]


def listed_names(values: dict, default: Iterable[str]) -> set[str]:
    """Return the files that a manifest or report lists, as `name` or `subdirectory/name`.

    Paths that leave the run's directory are dropped.

    Args:
        values: manifest or report.
        default: files if it has no list.
    """
    names = values.get(FILES, list(default))
    names = names if isinstance(names, list) else []
    return {name for name in names if isinstance(name, str) and is_within(name)}


def is_within(name: str) -> bool:
    """Return whether `name` is a file in a run directory, or in a direct subdirectory."""
    parts = name.split("/")
    return len(parts) <= 2 and all(part == os.path.basename(part) and part not in ("", ".", "..") for part in parts)


def present_names(folder: str, names: Iterable[str]) -> set[str]:
    """Return all names in a directory, and each of `names` that exists in a subdirectory."""
    nested = {name for name in map(str, names) if "/" in name and files.exists(os.path.join(folder, name))}
    return {*files.list_directory(folder), *nested}


def owned_names(folder: str) -> set[str]:
    """Return the file names, without checkpoints, that our runs list in a directory.

    A damaged run.json is treated like one without a list.
    """
    manifest = read_manifest_or_empty(folder)
    owned = set() if manifest is None else listed_names(manifest, FILES_OF_OLDER_RUNS) | {MANIFEST, STATE}
    report = read_report(folder)
    # If run.json lists the run's files, only the report can list others.
    result_files = () if manifest and FILES in manifest else RESULT_FILES
    return owned if report is None else owned | listed_names(report, result_files) | {REPORT}


def check_owned(folder: str, names: Iterable[str]) -> None:
    """Raise InputError if one of these files exists and was not written by our runs."""
    owned = owned_names(folder)
    names = tuple(names)
    present = present_names(folder, names)
    for subfolder in {os.path.dirname(name) for name in names} & present:
        path = os.path.join(folder, subfolder)
        refuse_if(not files.is_directory(path), f"{path}: is a file, a directory is needed; use another --output_dir")
    for name in names:
        path = os.path.join(folder, name)
        # A directory with a file's name is not ours: its files were never listed.
        if name in present and (name not in owned or (files.is_directory(path) and name != BEST)):
            raise InputError(
                f"{path}: would be written over, but no run of ours has listed it as its own; move "
                "it away, or use another --output_dir"
            )
