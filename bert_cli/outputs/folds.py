"""Cross-validation files: out-of-fold predictions, and suspected label errors."""

from collections.abc import Sequence

import numpy as np

from bert_cli.outputs.classification import TextPairs, text_columns, write_table
from bert_cli.problem_types.columns import Column, TextColumn
from bert_cli.problem_types.parts import Suspects


def write_folds(path: str, ids: Sequence[str], folds: np.ndarray, columns: dict[str, Column], texts: TextPairs) -> None:
    """Write out_of_fold.tsv: id, fold, more columns and text.

    Args:
        path: file to write.
        ids: row ids.
        folds: fold per row, from 0.
        columns: columns to write, the given label first.
        texts: text or pair per row.
    """
    # Count from 1, as the log and --cross_validation do.
    numbers = [str(fold + 1) for fold in folds.tolist()]
    write_table(path, {"id": TextColumn(ids), "fold": TextColumn(numbers), **columns, **text_columns(texts)}, "tsv")


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
