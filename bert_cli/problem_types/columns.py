"""Columns of tables: the label columns that a problem type reads, and the columns of predictions
that it fills.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.messages import listed, more, quoted
from bert_cli.problem_types.missing_labels import skip_advice


@dataclass(frozen=True)
class Probabilities:
    """float32 [n, names]: in a table a column prob_<name> for each name, in JSON an object."""

    names: Sequence[str]
    rows: np.ndarray


Column = Sequence[str | None] | Sequence[list[str]] | np.ndarray | Probabilities


def number_cells(numbers: np.ndarray) -> list[list[str]]:
    """Every value of a matrix as the shortest decimal that gives the same float32: 0.9987654,
    1.234e-05.
    """
    # str, not repr: since NumPy 2 the repr of a scalar is `np.float32(0.5)`.
    return [[str(value) for value in row] for row in np.asarray(numbers, np.float32)]


def taken(column: Column, rows: np.ndarray) -> Column:
    """The entries of a column with these numbers, in their order."""
    if isinstance(column, Probabilities):
        return Probabilities(column.names, column.rows[rows])
    return column[rows] if isinstance(column, np.ndarray) else [column[row] for row in rows.tolist()]


def json_values(column: Column) -> list[Any]:
    """What each row has of a column, for JSON: a number as the shortest decimal that gives the same
    float32.
    """
    # By way of the text: float() of a float32 would show the digits that float64 adds.
    if isinstance(column, Probabilities):
        return [dict(zip(column.names, map(float, cells), strict=True)) for cells in number_cells(column.rows)]
    if isinstance(column, np.ndarray) and column.dtype == bool:
        return column.tolist()
    if isinstance(column, np.ndarray):
        return [float(cell) for [cell] in number_cells(column[:, None])]
    return list(column)


def rows_of(columns: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """The n rows of columns [n, …], ready for JSON."""
    cells = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in cells]


def significant(value: float) -> float:
    """A number with six significant digits, for JSON."""
    return float(f"{value:.6g}")


Cell = str | tuple[str, ...]  # a tuple: a JSON list of names


@dataclass(frozen=True)
class LabelCells:
    """The label columns of a table of n rows.

    path: for messages. lines: where each row begins. rows: of each row the cells of its label
    columns, without spaces at their ends. columns: the names of the label columns, or their numbers
    where has_header is False. separator: of several labels in one cell, None where a cell is one
    label.
    """

    path: str
    lines: Sequence[int]
    rows: Sequence[tuple[Cell, ...]]
    columns: tuple[str, ...]
    has_header: bool
    separator: str | None = None

    def taken(self, rows: Sequence[int]) -> "LabelCells":
        """Return the cells of these rows, given by 0-based number."""
        return replace(self, lines=[self.lines[row] for row in rows], rows=[self.rows[row] for row in rows])

    @property
    def are_flags(self) -> bool:
        """Whether each label has a column of its own, of 0 and 1."""
        return len(self.columns) > 1 or (self.separator is None and all(row[0] in ("0", "1") for row in self.rows))

    def names(self, row: int) -> tuple[str, ...]:
        """The labels in the first label cell of a row, which the separator divides."""
        cell = self.rows[row][0]
        if isinstance(cell, tuple):
            return cell
        return tuple(
            part.strip() for part in (cell.split(self.separator) if self.separator else [cell]) if part.strip()
        )

    def check_one_column(self, problem_type: str) -> None:
        """InputError for several label columns, where each row has one label."""
        if len(self.columns) > 1:
            raise InputError(
                f"--problem_type={problem_type}: {self.path} has several labels a row; give one "
                "label column, or --problem_type=multi_label"
            )

    def check_known(self, named: Sequence[Sequence[str]], labels: Sequence[str]) -> None:
        """InputError for the first label of any row that is not among `labels`. named: the labels
        of each row.
        """
        known = frozenset(labels)
        unknown = [
            (line, name) for line, names in zip(self.lines, named, strict=True) for name in names if name not in known
        ]
        if unknown:
            line, name = unknown[0]
            raise InputError(
                f"{self.path}:{line}: label {quoted(name)} is not among the labels of the training "
                f"data, {listed(labels)}{more(unknown)}; correct it, or name all labels with "
                f"--labels{skip_advice(name)}"
            )
