"""A user's own file -> ClassificationExample records.

read_own_file gives the rows, and own_examples the examples; examples.labels reads the label cells
in between.
"""

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.messages import count_more
from bert_cli.base.names import join_names
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.labels.unlabeled import leave_out_unlabeled
from bert_cli.examples.own_columns import SAMPLE, ColumnIndices, find_columns, warn_of_headers
from bert_cli.examples.table_files.probe import TableFile
from bert_cli.examples.table_files.rows import Row
from bert_cli.problem_types.columns import LabelCells
from bert_cli.settings.data import NOT_TRAINED, Columns, TrainedColumns


class OwnRow(NamedTuple):
    """One row of a file: where it begins, its id, its texts, and the cells of its label columns,
    without blanks around.

    choices: the texts in the columns of endings, unchanged.
    """

    line: int
    identifier: str
    text_a: str
    text_b: str | None
    labels: tuple[str | tuple[str, ...], ...]
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class OwnFile:
    """The rows of a file, and where their parts stood in it."""

    path: str
    columns: ColumnIndices
    rows: list[OwnRow]

    @property
    def has_labels(self) -> bool:
        return bool(self.columns.labels)

    def written(self, columns: Sequence[int]) -> tuple[str, ...]:
        """Return the names with which flags name the columns, or their numbers.

        Columns have numbers without a header, and if a name occurs several times in it.
        """
        names = self.columns.names
        if names is None or any(names.count(names[column]) > 1 for column in columns):
            return tuple(map(str, columns))
        return tuple(names[column] for column in columns)

    def column_flags(self) -> dict[str, str]:
        """Return values of flags with which another file is read as this one was."""
        text_b = self.columns.text_b
        flags = {
            "text_column": self.written([self.columns.text_a])[0],
            "label_column": join_names(self.written(self.columns.labels)),
        }
        return flags | ({} if text_b is None else {"text_b_column": self.written([text_b])[0]})

    def label_cells(self, separator: str | None) -> LabelCells:
        """What a problem type parses. separator: of several labels in one cell."""
        return LabelCells(
            path=self.path,
            lines=[row.line for row in self.rows],
            rows=[row.labels for row in self.rows],
            columns=tuple(map(self.columns.called, self.columns.labels)),
            has_header=self.columns.names is not None,
            separator=separator,
        )


def read_own_file(
    table: TableFile,
    split: str,
    columns: Columns,
    header: str,
    needs_label: bool,
    choices: Sequence[str] = (),
    trained: TrainedColumns = NOT_TRAINED,
) -> OwnFile:
    """Return the rows of a table.

    An empty text is logged, with its line, and kept, as an empty text has a prediction, too. Rows
    that repeat the header are left out and counted in the log.

    Args:
        table: the file, or a table in memory.
        split: the first part of the ids of a file without ids: `<split>-<row, from 0>`.
        columns, header, needs_label, choices, trained: see `find_columns`.

    Raises:
        InputError: for a file without rows, for a row that is not as wide as the first one, and if
            a column is missing or in doubt.
    """
    path = table.path
    stream = table.filled_rows()
    # The first rows decide about the columns and the header; they are examples as well.
    sample = list(itertools.islice(stream, SAMPLE))
    if not sample:
        expected = "rows of a text and a label" if needs_label else "rows of texts"
        raise InputError(f"{path}: is empty; {expected} are needed")
    indices = find_columns(table, sample, columns, header, needs_label, choices, trained)
    rows: list[OwnRow] = []
    empty: list[int] = []
    headers: list[int] = []
    for row in itertools.chain(sample if indices.names is None else sample[1:], stream):
        table.check_width(row, indices.width)
        if indices.is_repeated_header(row):
            headers.append(row.line)
            continue
        rows.append(_own_row(row, indices, f"{split}-{len(rows)}"))
        # Kept: predictions have a row for each row of the file.
        if not rows[-1].text_a.strip():
            empty.append(row.line)
    warn_of_headers(path, headers)
    if not rows:
        raise InputError(f"{path}: holds no row below its header; check the file")
    if empty:
        LOG.warning("%s:%d: the text is empty%s", path, empty[0], count_more(empty))
    return OwnFile(path, indices, rows)


def _own_row(row: Row, indices: ColumnIndices, name: str) -> OwnRow:
    cells = row.cells
    identifier = "" if indices.identifier is None else _one_text(cells[indices.identifier])
    return OwnRow(
        row.line,
        identifier if identifier.strip() else name,
        _one_text(cells[indices.text_a]),
        None if indices.text_b is None else _one_text(cells[indices.text_b]),
        tuple([_stripped(cells[column]) for column in indices.labels]),
        tuple([_one_text(cells[column]) for column in indices.choices]),
    )


def _one_text(cell: str | Sequence[str]) -> str:
    # A JSON list in the column of a text: its sentences or words.
    return cell if isinstance(cell, str) else " ".join(cell)


def _stripped(cell: str | Sequence[str]) -> str | tuple[str, ...]:
    # One object for all rows with a label, not a text for each row.
    return sys.intern(cell.strip()) if isinstance(cell, str) else tuple(part.strip() for part in cell)


def without_unlabeled(file: OwnFile) -> OwnFile:
    """Return the file without the rows that have no label, and log how many they are."""
    labeled = leave_out_unlabeled(file.label_cells(None), None, is_numeric=False)
    return replace(file, rows=[file.rows[row] for row in labeled])


def own_examples(file: OwnFile, labels: Sequence[Any] | None = None) -> list[ClassificationExample]:
    """Return the rows as examples.

    Args:
        file: rows of a file.
        labels: the label of each row as ProblemType.parse returns it, None for a row without one;
            None if the labels are not read.
    """
    return [
        ClassificationExample(row.identifier, row.text_a, row.text_b, label)
        for row, label in zip(file.rows, labels or [None] * len(file.rows), strict=True)
    ]
