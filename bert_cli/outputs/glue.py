"""Files for the leaderboard of GLUE."""

import os
from collections.abc import Sequence

from bert_cli.base.errors import InputError
from bert_cli.base.writing import atomic_write

# The scores of STS-B.
_LOWEST, _HIGHEST = 0.0, 5.0


def write_glue_submission(folder: str, name: str, ids: Sequence[str], predictions: Sequence[str | float]) -> str:
    """Write <name>.tsv as gluebenchmark.com takes it: the header `index`, `prediction`, then a row for each; returns its path.

    name: CoLA, SST-2, MRPC, STS-B, QQP, MNLI-m, MNLI-mm, QNLI, RTE, WNLI or AX, as the leaderboard calls the task's file.
    ids: the column `index` of the test file. predictions: the labels' names, or, where they are numbers, scores, which are
    brought into 0…5 and written with three decimals. InputError for an id that is no whole number, or that comes twice.
    """
    seen: set[int] = set()
    for row, given in enumerate(ids, 1):
        if not (given.isascii() and given.isdigit() and len(given) < 20):
            raise InputError(
                f"--glue_submission: the id {given!r} of row {row} is no whole number; the leaderboard wants the column "
                "index of the test file as the benchmark ships it"
            )
        # By value: 7 and 07 are one index to the leaderboard.
        if int(given) in seen:
            raise InputError(
                f"--glue_submission: the id {given} of row {row} stands there before; give each row its own"
            )
        seen.add(int(given))
    path = os.path.join(folder, f"{name}.tsv")
    with atomic_write(path) as file:
        file.write("index\tprediction\n")
        file.writelines(f"{given}\t{_cell(value)}\n" for given, value in zip(ids, predictions, strict=True))
    return path


def _cell(value: str | float) -> str:
    return value if isinstance(value, str) else f"{min(max(value, _LOWEST), _HIGHEST):.3f}"
