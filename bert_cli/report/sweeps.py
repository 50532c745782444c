"""Reader of directories with several runs by one command: seeds, a grid or folds."""

import csv
import dataclasses
import os
import re
from typing import Any, TypedDict

from bert_cli.base import files
from bert_cli.base.json_files import read_json_object
from bert_cli.base.lines import read_text
from bert_cli.base.names import MANIFEST, REPORT, SEVERAL, SUSPECTS


class Member(TypedDict):
    """A run or grid cell: its directory's name and its metrics, besides the flags that differ."""

    folder: str
    eval: dict[str, float]


@dataclasses.dataclass(frozen=True)
class SweepReport:
    """A command's report about its runs.

    Attributes:
        folder: output directory.
        kind: names.RUNS, GRID or FOLDS.
        members: per run or grid cell, its name as `folder` and its metrics as `eval`.
        best: the best member's name, None for folds.
        suspects: rows of suspects.tsv as dicts, None if the file does not exist.
        command_line: the command that made the runs, "" if it is not known.
    """

    folder: str
    kind: str
    members: list[Member]
    best: str | None
    suspects: list[dict[str, str]] | None
    command_line: str = ""


def read_sweep(folder: str) -> SweepReport | None:
    """Read a sweep's directory; return None if it has no runs.

    Raises:
        InputError: a file is damaged.
    """
    path = os.path.join(folder, REPORT)
    report: dict[str, Any] = read_json_object(path) if files.exists(path) else {}
    several = report.get(SEVERAL) if report else _find_members(folder)
    if not isinstance(several, dict) or not several.get("members"):
        return None
    return SweepReport(
        folder=folder,
        kind=several["kind"],
        members=several["members"],
        best=several.get("best"),
        suspects=_read_suspects(os.path.join(folder, SUSPECTS)),
        command_line=str(report.get("command_line", "")),
    )


def _find_members(folder: str) -> dict[str, Any] | None:
    """Return the runs of a sweep without a report.

    Such a sweep was interrupted, or is a grid cell that an earlier version made.
    """
    path = os.path.join(folder, MANIFEST)
    kind = read_json_object(path).get(SEVERAL) if files.exists(path) else None
    if not kind:
        return None
    names = [name for name in files.list_directory(folder) if files.exists(os.path.join(folder, name, MANIFEST))]
    # run-10 follows run-9.
    names.sort(key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])
    return {"kind": kind, "members": [{"folder": name, "eval": {}} for name in names]}


def _read_suspects(path: str) -> list[dict[str, str]] | None:
    if not files.exists(path):
        return None
    # write_table replaces line ends in cells, so each line is a row.
    return list(csv.DictReader(read_text(path).split("\n"), delimiter="\t"))


def member_folders(folder: str) -> list[str]:
    """Return the directories of single runs within this one, [] if it is a single run."""
    sweep = read_sweep(folder)
    inner = [os.path.join(folder, member["folder"]) for member in sweep.members] if sweep else []
    return [leaf for path in inner for leaf in member_folders(path) or [path]]
