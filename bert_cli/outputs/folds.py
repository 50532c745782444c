"""Cross-validation files: out-of-fold predictions, and suspected label errors."""

from collections.abc import Sequence

import numpy as np

from bert_cli.outputs.classification import TextPairs, text_columns, write_table
from bert_cli.problem_types.columns import Column, TextColumn
from bert_cli.problem_types.optional_parts import Suspects


def write_folds(
    path: str, ids: Sequence[str], assignments: Sequence[np.ndarray], columns: dict[str, Column], texts: TextPairs
) -> None:
    """Write out_of_fold.tsv: id, fold, more columns and text.

    With several repeats, the columns fold_1, fold_2 and so on have the fold in each of them.

    Args:
        path: file to write.
        ids: row ids.
        assignments: fold per row, from 0, per repeat.
        columns: columns to write, the given label first.
        texts: text or pair per row.
    """
    # Count from 1, as the log and --cross_validation do.
    names = ["fold"] if len(assignments) == 1 else [f"fold_{number}" for number in range(1, len(assignments) + 1)]
    folds = {
        name: TextColumn([str(fold + 1) for fold in assignment.tolist()])
        for name, assignment in zip(names, assignments, strict=True)
    }
    write_table(path, {"id": TextColumn(ids), **folds, **columns, **text_columns(texts)}, "tsv")


def write_suspects(path: str, ids: Sequence[str], suspects: Suspects, texts: TextPairs) -> None:
    """Write suspects.tsv: id, the problem type's columns and text, a line per suspected error.

    Args:
        path: file to write.
        ids: ids of all rows.
        suspects: the suspected errors.
        texts: text or pair for all rows.
    """
    rows = suspects.rows
    columns = {"id": TextColumn([ids[row] for row in rows]), **suspects.columns}
    write_table(path, columns | text_columns([texts[row] for row in rows]), "tsv")
