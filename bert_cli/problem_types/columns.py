"""Table columns: label columns that a problem type reads, and prediction columns that it fills."""

import abc
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.formats import count_more, list_names, parse_number, quote
from bert_cli.metrics.classification import check_finite

# Annotators write signs (SNLI a hyphen); pandas, R, SQL and spreadsheets write words.
_SIGNS = re.compile(r"-{1,3}|[–—]|\?{1,3}")
_WORDS = re.compile(r"nan|<na>|<null>|#?n/a|null|unlabell?ed|no[ _-]label", re.IGNORECASE)
# These words are also class names: the stance "none", the answer "NA".
_CLASS_NAMES = re.compile(r"none|na", re.IGNORECASE)
MINUS_ONE = "-1"  # marks a missing class index in Hugging Face data sets
SKIP_ADVICE = "--skip_unlabeled leaves such rows out"


def skip_advice(text: str) -> str:
    """Return the end of an error message if a cell may have no label, "" otherwise."""
    return f"; {SKIP_ADVICE}" if may_be_missing(text) or text == MINUS_ONE else ""


def is_missing_sign(text: str) -> bool:
    """Return whether a text is punctuation that annotators write for no label."""
    return _SIGNS.fullmatch(text) is not None


def is_missing_word(text: str) -> bool:
    """Return whether a text is a word that means no label in every data set."""
    return _WORDS.fullmatch(text) is not None


def is_doubtful_word(text: str) -> bool:
    """Return whether a text means no label in some data sets, and is a class in others."""
    return _CLASS_NAMES.fullmatch(text) is not None


SOFT_ADVICE = "--soft_labels and --problem_type=single_label to bert-classify, which learns them"


def soft_labels_error(place: str, labels: object, advice: str = SOFT_ADVICE) -> InputError:
    """Return the error for a row of probabilities, which are labels only with --soft_labels.

    Args:
        place: the row, for the message.
        labels: its probabilities.
        advice: how to learn them.
    """
    return InputError(
        f"{place}: holds numbers other than 0 and 1: {labels!s:.80}; give a 0 or 1 per label; for probabilities, give "
        f"the index of the highest one, as in labels.argmax(axis=1), or give {advice}"
    )


def may_be_missing(text: str) -> bool:
    """Return whether a cell may have no label: it is empty, or a sign or word for a missing label."""
    return not text or is_missing_sign(text) or is_missing_word(text) or is_doubtful_word(text)


class Column(abc.ABC):
    """Column of a table with n rows, which has one or more cells per row."""

    def headers(self, name: str) -> list[str]:
        """Return the header of each cell in a row; `name` is the column's name."""
        return [name]

    @abc.abstractmethod
    def cells(self) -> list[list[str]]:
        """Return the table cells, row by row."""

    @abc.abstractmethod
    def records(self) -> list[Any]:
        """Return each row's value for JSON, with numbers as the shortest decimal for their float32."""

    @abc.abstractmethod
    def take(self, rows: np.ndarray) -> Self:
        """Return the entries at these row numbers, in their order."""

    def check(self) -> None:  # noqa: B027 - columns without numbers pass
        """Raise InputError if a number is NaN."""


@dataclass(frozen=True)
class TextColumn(Column):
    """Texts of n rows; None becomes an empty cell."""

    values: Sequence[str | None]

    def cells(self) -> list[list[str]]:
        return [[value or ""] for value in self.values]

    def records(self) -> list[Any]:
        return list(self.values)

    def take(self, rows: np.ndarray) -> Self:
        return replace(self, values=[self.values[row] for row in rows.tolist()])


@dataclass(frozen=True)
class KeptColumn(Column):
    """Cells of n rows from an input file: texts, or lists of texts."""

    values: Sequence[str | Sequence[str]]

    def cells(self) -> list[list[str]]:
        return [[value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)] for value in self.values]

    def records(self) -> list[Any]:
        return [value if isinstance(value, str) else list(value) for value in self.values]

    def take(self, rows: np.ndarray) -> Self:
        return replace(self, values=[self.values[row] for row in rows.tolist()])


@dataclass(frozen=True)
class NameListColumn(Column):
    """Label names of n rows, joined by a comma in a cell.

    Attributes:
        values: the names of each row.
        has_commas: whether a label of the model contains a comma. Each cell is then a list such as
            ['Food, drink', 'Staff'], which bert-classify and Python's ast.literal_eval read.
    """

    values: Sequence[Sequence[str]]
    has_commas: bool = False

    def cells(self) -> list[list[str]]:
        return [[repr(list(names)) if self.has_commas else ",".join(names)] for names in self.values]

    def records(self) -> list[Any]:
        return list(map(list, self.values))

    def take(self, rows: np.ndarray) -> Self:
        return replace(self, values=[self.values[row] for row in rows.tolist()])


@dataclass(frozen=True)
class FlagColumn(Column):
    """Truth values of n rows, bool [n]: yes or no in a table."""

    values: np.ndarray

    def cells(self) -> list[list[str]]:
        return [["yes" if value else "no"] for value in self.values]

    def records(self) -> list[Any]:
        return self.values.tolist()

    def take(self, rows: np.ndarray) -> Self:
        return replace(self, values=self.values[rows])


@dataclass(frozen=True)
class NumberColumn(Column):
    """Numbers of n rows, float32 [n]."""

    values: np.ndarray

    def cells(self) -> list[list[str]]:
        return number_cells(self.values[:, None])

    def records(self) -> list[Any]:
        # Convert through text: float() of a float32 would show the digits that float64 adds.
        return [float(cell) for [cell] in self.cells()]

    def take(self, rows: np.ndarray) -> Self:
        return replace(self, values=self.values[rows])

    def check(self) -> None:
        check_finite(self.values)


@dataclass(frozen=True)
class Probabilities(Column):
    """Probabilities of n rows, float32 [n, names].

    A table has a column prob_<name> per name; JSON has one object per row.
    """

    names: Sequence[str]
    values: np.ndarray

    def headers(self, name: str) -> list[str]:
        return [f"prob_{label}" for label in self.names]

    def cells(self) -> list[list[str]]:
        return number_cells(self.values)

    def records(self) -> list[Any]:
        return [dict(zip(self.names, map(float, cells), strict=True)) for cells in self.cells()]

    def take(self, rows: np.ndarray) -> Self:
        return replace(self, values=self.values[rows])

    def check(self) -> None:
        check_finite(self.values)


def number_cells(numbers: np.ndarray) -> list[list[str]]:
    """Return each matrix value as the shortest text that gives the same float32.

    For example 0.9987654 or 1.234e-05.
    """
    # Use str, not repr: since NumPy 2 a scalar's repr is `np.float32(0.5)`.
    return [[str(value) for value in row] for row in np.asarray(numbers, np.float32)]


def read_probabilities(rows: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Return the predictions of rows from eval_examples.jsonl, which have no losses; these are 0."""
    return {"probabilities": np.array([row["probabilities"] for row in rows]), "losses": np.zeros(len(rows))}


def rows_of(columns: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """Return columns [n, …] as n rows, ready for JSON."""
    cells = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in cells]


def round_to_six_digits(value: float) -> float:
    """Return a number rounded to six significant digits, for JSON."""
    return float(f"{value:.6g}")


# Texts of 0 and 1: integers, floats of NumPy and of
# Python, and truth values of Python, JSON and Excel.
FLAGS: dict[str, int] = dict.fromkeys(("0", "0.", "0.0", "False", "false", "FALSE"), 0)
FLAGS |= dict.fromkeys(("1", "1.", "1.0", "True", "true", "TRUE"), 1)
LabelCell = str | tuple[str, ...]  # a tuple is a JSON list of names


@dataclass(frozen=True)
class LabelCells:
    """Label columns of a table with n rows.

    Attributes:
        path: table path, for messages.
        lines: first line of each row.
        rows: each row's label cells, without leading and trailing spaces.
        columns: label column names, or column numbers if the table has no header.
        has_header: whether the table has a header.
        separator: separator used between labels in a cell, None if each cell is one label.
    """

    path: str
    lines: Sequence[int]
    rows: Sequence[tuple[LabelCell, ...]]
    columns: tuple[str, ...]
    has_header: bool
    separator: str | None = None

    def take(self, rows: Sequence[int]) -> "LabelCells":
        """Return the cells of these rows, given by 0-based number."""
        return replace(self, lines=[self.lines[row] for row in rows], rows=[self.rows[row] for row in rows])

    @property
    def are_flags(self) -> bool:
        """Return whether each label has a separate column of 0 and 1."""
        return len(self.columns) > 1 or (self.separator is None and all(row[0] in ("0", "1") for row in self.rows))

    def names(self, row: int) -> tuple[str, ...]:
        """Return the labels in a row's first label cell, split at the separator."""
        cell = self.rows[row][0]
        if isinstance(cell, tuple):
            return cell
        return tuple(
            name.strip() for name in (cell.split(self.separator) if self.separator else [cell]) if name.strip()
        )

    def check_flags(self) -> None:
        """Raise InputError for the first label cell that is neither 0 nor 1."""
        for line, row in zip(self.lines, self.rows, strict=True):
            for name, cell in zip(self.columns, row, strict=True):
                if cell not in FLAGS:
                    is_probability = 0 < parse_number(str(cell)) < 1
                    advice = f"; for probabilities, give {SOFT_ADVICE}" if is_probability else skip_advice(str(cell))
                    raise InputError(
                        f"{self.path}:{line}: column {name} is {quote(str(cell))}, 0 or 1 is needed{advice}"
                    )

    def check_one_column(self, problem_type: str) -> None:
        """Raise InputError if rows have several label columns, for types with one label per row."""
        if len(self.columns) > 1:
            raise InputError(
                f"--problem_type={problem_type}: {self.path} has several labels a row; give one "
                "label column, or --problem_type=multi_label"
            )

    def check_known(self, row_labels: Sequence[Sequence[str]], labels: Sequence[str]) -> None:
        """Raise InputError for the first row label that is not among `labels`.

        Args:
            labels: labels that the model knows.
        """
        label_set = frozenset(labels)
        unknown = [
            (line, name)
            for line, names in zip(self.lines, row_labels, strict=True)
            for name in names
            if name not in label_set
        ]
        if unknown:
            line, name = unknown[0]
            raise InputError(
                f"{self.path}:{line}: label {quote(name)} is not among the labels of the training "
                f"data, {list_names(labels)}{count_more(unknown)}; correct it, or name all labels with "
                f"--labels{skip_advice(name)}"
            )
