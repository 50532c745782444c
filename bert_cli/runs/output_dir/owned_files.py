"""Whose the files of a run's folder are: what runs of ours have listed in run.json and in their
report.
"""

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
from bert_cli.runs.output_dir.manifest import FILES, TOKENIZER, manifest_even_damaged, read_report

# Owned by a run whose run.json is from before it listed its files.
OF_OLDER_RUNS = (*RUN_FILES, LABELS, VOCABULARY, *RESULT_FILES)


def written_names(manifest: dict, names: Iterable[str]) -> list[str]:
    """Names of the files, but for checkpoints, of a run with this manifest whose task writes
    `names`.
    """
    has = {LABELS: manifest.get("labels") is not None, VOCABULARY: manifest.get("vocabulary") is not None}
    has[TOKENIZER_CONFIG] = TOKENIZER in manifest
    return [*RUN_FILES, *(name for name in has if has[name]), *names]


def listed_names(values: dict, otherwise: Iterable[str]) -> set[str]:
    """The files that a manifest or report lists, `name` or `folder/name`; a name that leads out of
    the folder is none of ours.
    """
    names = values.get(FILES, list(otherwise))
    names = names if isinstance(names, list) else []
    return {name for name in names if isinstance(name, str) and is_within(name)}


def is_within(name: str) -> bool:
    """Whether it names a file of a run's folder, or of a folder in it."""
    parts = name.split("/")
    return len(parts) <= 2 and all(part == os.path.basename(part) and part not in ("", ".", "..") for part in parts)


def present_names(folder: str, names: Iterable[str]) -> set[str]:
    """What lies in the folder, and which of these files lie in folders of it."""
    inner = {name for name in map(str, names) if "/" in name and files.exists(os.path.join(folder, name))}
    return {*files.list_directory(folder), *inner}


def owned_names(folder: str) -> set[str]:
    """Names of the files, but for checkpoints, that runs of ours wrote into a folder, by what they
    have listed there.

    A run.json that cannot be read counts as written by an older run.
    """
    manifest = manifest_even_damaged(folder)
    owned = set() if manifest is None else listed_names(manifest, OF_OLDER_RUNS) | {MANIFEST, STATE}
    report = read_report(folder)
    # A run that lists its files in run.json has written no other ones, unless its report lists
    # them.
    of_report = () if manifest and FILES in manifest else RESULT_FILES
    return owned if report is None else owned | listed_names(report, of_report) | {REPORT}


def check_ours(folder: str, names: Iterable[str]) -> None:
    """InputError, naming it, for the first of these files that is there and that no run of ours
    wrote.
    """
    owned = owned_names(folder)
    names = tuple(names)
    present = present_names(folder, names)
    for inner in {os.path.dirname(name) for name in names} & present:
        path = os.path.join(folder, inner)
        refuse_if(not files.is_directory(path), f"{path}: is a file, a directory is needed; use another --output_dir")
    for name in names:
        path = os.path.join(folder, name)
        # A folder under the name of a file is nobody's: what lies in it was never listed.
        if name in present and (name not in owned or (files.is_directory(path) and name != BEST)):
            raise InputError(
                f"{path}: would be written over, but no run of ours has listed it as its own; move "
                "it away, or use another --output_dir"
            )
