"""Folders of several runs by one command: seeds, a grid, or the folds of a cross-validation."""

import csv
import dataclasses
import os
from typing import Any

from bert_cli.base import files
from bert_cli.base.json_files import read_json_object
from bert_cli.base.lines import read_text
from bert_cli.base.names import REPORT, SEVERAL, SUSPECTS


@dataclasses.dataclass(frozen=True)
class Sweep:
    """What a command reported of its runs.

    folder    its path
    kind      names.RUNS, GRID or FOLDS
    members   for each run or cell of a grid `folder`, its name, and `eval`, its metrics
    best      the name of the best member, None for folds
    suspects  rows of suspects.tsv by its header, None where there is no such file
    """

    folder: str
    kind: str
    members: list[dict[str, Any]]
    best: str | None
    suspects: list[dict[str, str]] | None


def read_sweep(folder: str) -> Sweep | None:
    """None where the folder does not hold several runs that were compared; InputError for a damaged
    file.
    """
    path = os.path.join(folder, REPORT)
    several = read_json_object(path).get(SEVERAL) if files.exists(path) else None
    if not isinstance(several, dict) or not several.get("members"):
        return None
    return Sweep(
        folder=folder,
        kind=several["kind"],
        members=several["members"],
        best=several.get("best"),
        suspects=_read_suspects(os.path.join(folder, SUSPECTS)),
    )


def _read_suspects(path: str) -> list[dict[str, str]] | None:
    if not files.exists(path):
        return None
    # A quoted cell may hold a line end, but write_table replaces them by spaces.
    return list(csv.DictReader(read_text(path).split("\n"), delimiter="\t"))


def member_folders(folder: str) -> list[str]:
    """The folders of the single runs that a command made within this one; [] for a run of its own."""
    sweep = read_sweep(folder)
    inner = [os.path.join(folder, member["folder"]) for member in sweep.members] if sweep else []
    return [leaf for path in inner for leaf in member_folders(path) or [path]]
