"""Which files of a folder runs of ours wrote, by what they have listed there: run.json of a training run, and the report."""

import os
from collections.abc import Iterable

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.json_files import parse_json
from bert_cli.base.lines import read_text
from bert_cli.base.names import (
    ANSWERS,
    BEST,
    CONFIG,
    EVAL_RESULTS,
    FLAGS,
    LABELS,
    MANIFEST,
    NBEST_ANSWERS,
    NULL_ODDS,
    PREDICTIONS_TABLE,
    REPORT,
    STATE,
    TEST_PREDICTIONS,
    TEST_PREDICTIONS_JSON,
    TEST_RESULTS,
    VOCABULARY,
)
from bert_cli.runs.output_dir.manifest import FILES, read_manifest

# Of each run, beside the task's own; labels and vocabulary where it has some.
_COMPANIONS = (MANIFEST, STATE, CONFIG, FLAGS, EVAL_RESULTS, REPORT)
_RESULTS = (
    EVAL_RESULTS, TEST_RESULTS, PREDICTIONS_TABLE, TEST_PREDICTIONS, TEST_PREDICTIONS_JSON, ANSWERS, NBEST_ANSWERS,
    NULL_ODDS,
)  # fmt: skip
# Owned by a run whose run.json is from before it listed its files.
OF_OLDER_RUNS = (*_COMPANIONS, LABELS, VOCABULARY, *_RESULTS)


def written_names(manifest: dict, names: Iterable[str]) -> list[str]:
    """Names of the files, but for checkpoints, of a run with this manifest whose task writes `names`."""
    has = {LABELS: manifest.get("labels") is not None, VOCABULARY: manifest.get("vocabulary") is not None}
    return [*_COMPANIONS, *(name for name in has if has[name]), *names]


def read_report(folder: str) -> dict | None:
    """The report of an earlier run; None where there is none, or a run_report.json that no run of ours wrote."""
    path = os.path.join(folder, REPORT)
    if not files.exists(path) or files.is_directory(path):
        return None
    try:
        values = parse_json(read_text(path), path)
    except InputError:  # not ours: these are written whole
        return None
    return values if isinstance(values, dict) and "total_seconds" in values else None


def listed_names(values: dict, otherwise: Iterable[str]) -> set[str]:
    """The files that a manifest or report lists; a name that leads out of the folder is none of ours."""
    names = values.get(FILES, list(otherwise))
    names = names if isinstance(names, list) else []
    return {name for name in names if isinstance(name, str) and name == os.path.basename(name)}


def owned_names(folder: str) -> set[str]:
    """Names of the files, but for checkpoints, that runs of ours wrote into a folder, by what they have listed there.

    A run.json that cannot be read counts as that of an older run, as --overwrite_output_dir is the way out of it.
    """
    owned: set[str] = set()
    if files.exists(os.path.join(folder, MANIFEST)):
        try:
            manifest = read_manifest(folder)
        except InputError:
            manifest = {}
        if manifest is not None:
            owned |= listed_names(manifest, OF_OLDER_RUNS) | {MANIFEST, STATE}
    report = read_report(folder)
    return owned if report is None else owned | listed_names(report, _RESULTS) | {REPORT}


def check_ours(folder: str, names: Iterable[str]) -> None:
    """InputError, naming it, for the first of these files that is there and that no run of ours wrote."""
    owned = owned_names(folder)
    present = set(files.list_directory(folder))
    for name in names:
        path = os.path.join(folder, name)
        if name in present and (name not in owned or (files.is_directory(path) and name != BEST)):
            raise InputError(
                f"{path}: would be written over, but no run of ours has listed it as its own; move it away, or use another "
                "--output_dir"
            )
