"""Owned files in a run's directory: those that our runs list in run.json and in the report."""

import os
import re
import shutil
from collections.abc import Iterable

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import parse_json
from bert_cli.base.lines import read_text
from bert_cli.base.names import (
    BEST,
    CHECKPOINT,
    LABELS,
    MANIFEST,
    REPORT,
    RESULT_FILES,
    RUN_FILES,
    STATE,
    TOKENIZER_CONFIG,
    VOCABULARY,
)
from bert_cli.base.writing import LEFTOVER, write_json
from bert_cli.run_directory.manifest import FILES, TOKENIZER, read_manifest

# Files that a run owns if its run.json is damaged.
_FILES_OF_DAMAGED_RUNS = {*RUN_FILES, LABELS, VOCABULARY, *RESULT_FILES}
CHECKPOINT_FILE = re.compile(re.escape(CHECKPOINT) + r"(\d+)\.(index|data-\d{5}-of-\d{5})")


def run_file_names(manifest: dict, names: Iterable[str]) -> list[str]:
    """Return the file names that a run owns, without checkpoints.

    Args:
        names: files that are specific to the task.
    """
    has = {LABELS: manifest.get("labels") is not None, VOCABULARY: manifest.get("vocabulary") is not None}
    has[TOKENIZER_CONFIG] = TOKENIZER in manifest
    return [*RUN_FILES, *(name for name in has if has[name]), *names]


def listed_file_names(values: dict) -> set[str]:
    """Return the files that a manifest or report lists, as `name` or `subdirectory/name`.

    Paths that leave the run's directory are dropped.
    """
    names = values.get(FILES)
    names = names if isinstance(names, list) else []
    return {name for name in names if isinstance(name, str) and _is_within(name)}


def _is_within(name: str) -> bool:
    """Return whether `name` is a file in a run's directory, or in a direct subdirectory."""
    parts = name.split("/")
    return len(parts) <= 2 and all(part == os.path.basename(part) and part not in ("", ".", "..") for part in parts)


class OwnedFiles:
    """Files in a directory that our runs wrote, as run.json and run_report.json list them.

    Other files are never removed or replaced.
    """

    def __init__(self, path: str):
        self._path = path

    def read_manifest(self, *advice: str) -> dict | None:
        """Return run.json, see manifest.read_manifest."""
        return read_manifest(os.path.join(self._path, MANIFEST), *advice)

    def read_undamaged_manifest(self) -> dict | None:
        """Return run.json like `read_manifest`, but {} for a damaged run.json.

        --overwrite_output_dir must work in a directory with a damaged run.json.
        """
        try:
            return self.read_manifest()
        except InputError:
            return {}

    def read_report(self) -> dict | None:
        """Return run_report.json from an earlier run; None if there is no such file of ours."""
        path = os.path.join(self._path, REPORT)
        if not files.exists(path) or files.is_directory(path):
            return None
        try:
            values = parse_json(read_text(path), path)
        except InputError:  # the file is not ours: our reports are written atomically
            return None
        return values if isinstance(values, dict) and "total_seconds" in values else None

    def names(self) -> set[str]:
        """Return the file names, without checkpoints, that our runs list in this directory.

        If run.json is damaged, these are the usual names.
        """
        manifest, report = self.read_undamaged_manifest(), self.read_report()
        owned: set[str] = set()
        if manifest is not None:
            owned = {MANIFEST, STATE} | (listed_file_names(manifest) if manifest else _FILES_OF_DAMAGED_RUNS)
        return owned if report is None else owned | listed_file_names(report) | {REPORT}

    def removable_names(self) -> list[str]:
        """Return the sorted names that a new run removes: files of our runs, checkpoints, best/."""
        owned = self.names()
        is_run = MANIFEST in owned
        present = self._present_names(owned)
        return [name for name in sorted(present) if name in owned or (is_run and CHECKPOINT_FILE.fullmatch(name))]

    def _present_names(self, names: Iterable[str]) -> set[str]:
        """Return all names in this directory, and each of `names` that exists in a subdirectory."""
        nested = {name for name in map(str, names) if "/" in name and files.exists(os.path.join(self._path, name))}
        return {*files.list_directory(self._path), *nested}

    def check(self, names: Iterable[str]) -> None:
        """Raise InputError if one of these files exists and was not written by our runs."""
        owned = self.names()
        names = tuple(names)
        present = self._present_names(names)
        for subfolder in {os.path.dirname(name) for name in names} & present:
            path = os.path.join(self._path, subfolder)
            message = f"{path}: is a file, a directory is needed; use another --output_dir"
            refuse_if(not files.is_directory(path), message)
        for name in names:
            path = os.path.join(self._path, name)
            # A directory with a file's name is not ours: its files were never listed.
            if name in present and (name not in owned or (files.is_directory(path) and name != BEST)):
                raise InputError(
                    f"{path}: would be written over, but no run of ours has listed it as its own; move "
                    "it away, or use another --output_dir"
                )

    def check_results(self, names: Iterable[str]) -> None:
        """Raise InputError if a report or one of `names` exists that our runs did not write."""
        self.check((*names, REPORT))

    def drop_unwritten(self) -> None:
        """Drop missing files from the list in run.json, so that other programs can use their names."""
        manifest = self.read_manifest() or {}
        listed = manifest.get(FILES)
        if not isinstance(listed, list):
            return
        present = self._present_names(listed)
        written = [name for name in listed if name in present]
        if written != listed:
            write_json(os.path.join(self._path, MANIFEST), manifest | {FILES: written})

    def remove_leftovers(self) -> None:
        """Remove half-written files of killed runs, also from best/."""
        owned = self.names()
        if MANIFEST not in owned:
            return
        if BEST in owned:
            OwnedFiles(os.path.join(self._path, BEST)).remove_leftovers()
        for name in files.list_directory(self._path):
            path = os.path.join(self._path, name)
            if not LEFTOVER.fullmatch(name):
                continue
            if not files.is_directory(path):
                files.remove(path)
            # A checkpoint is written in a hidden directory. One with other files may not be ours.
            elif all(CHECKPOINT_FILE.match(file) for file in files.list_directory(path)):
                try:
                    shutil.rmtree(path)
                except OSError as error:
                    raise InputError(f"{path}: cannot be removed: {error.strerror}") from None
