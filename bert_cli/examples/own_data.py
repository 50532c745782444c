"""A user's own file -> ClassificationExample records: what kind of problem it is, its labels, and a part to evaluate on.

read_own_file gives the rows; find_problem_type and find_own_labels look at those of the training file, once; own_examples
checks the labels of a file against them.
"""

import difflib
import itertools
import logging
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import MULTI_LABEL, REGRESSION, SINGLE_LABEL
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.own_columns import SAMPLE, Places, place_columns
from bert_cli.examples.own_rows import check_width, read_rows
from bert_cli.examples.tables import Row, Table, is_number, more, quoted
from bert_cli.settings.data import Columns, LabelKind

LOG = logging.getLogger("bert_cli")
_MOST_DIGITS = 4300  # of a number that int() takes


class OwnRow(NamedTuple):
    """One row of a file: where it begins, its id, its texts, and the cells of its label columns, without blanks around.

    choices: the texts in the columns of endings, as they stand there.
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
    places: Places
    rows: list[OwnRow]

    @property
    def has_labels(self) -> bool:
        return bool(self.places.labels)


def read_own_file(
    path: str,
    split: str,
    columns: Columns,
    header: str,
    flag: str,
    needs_label: bool,
    choices: Sequence[str] = (),
) -> OwnFile:
    """The rows of one file. split: the beginning of the ids of a file without ids: `<split>-<row, from 0>`.

    flag: named where the file is missing. needs_label, choices: see place_columns. An empty text is told, with its line, and
    kept: its answer is that of no text. InputError for a file without rows, a row that is not as wide as the first one, and
    what own_rows and own_columns refuse.
    """
    return _own_file(path, read_rows(path, flag), split, columns, header, needs_label, choices)


def read_own_table(table: Table, split: str, columns: Columns, needs_label: bool) -> OwnFile:
    """As read_own_file, of a table in memory."""
    rows = itertools.chain([Row(0, list(table.names))], table.rows)
    return _own_file(table.name, rows, split, columns, "yes", needs_label)


def _own_file(
    path: str,
    stream: Iterator[Row],
    split: str,
    columns: Columns,
    header: str,
    needs_label: bool,
    choices: Sequence[str] = (),
) -> OwnFile:
    sample = list(itertools.islice(stream, SAMPLE))
    if not sample:
        raise InputError(f"{path}: is empty; rows of a text and a label are needed")
    places = place_columns(path, sample, columns, header, needs_label, choices)
    rows: list[OwnRow] = []
    empty: list[int] = []
    for row in itertools.chain(sample if places.names is None else sample[1:], stream):
        check_width(path, row, places.width)
        rows.append(_own_row(row, places, f"{split}-{len(rows)}"))
        if not rows[-1].text_a.strip():
            empty.append(row.line)
    if not rows:
        raise InputError(f"{path}: holds no row below its header; check the file")
    if empty:
        LOG.warning("%s:%d: the text is empty%s", path, empty[0], more(empty))
    return OwnFile(path, places, rows)


def _own_row(row: Row, places: Places, name: str) -> OwnRow:
    cells = row.cells
    identifier = "" if places.identifier is None else _one_text(cells[places.identifier])
    return OwnRow(
        row.line,
        identifier if identifier.strip() else name,
        _one_text(cells[places.text_a]),
        None if places.text_b is None else _one_text(cells[places.text_b]),
        tuple([_stripped(cells[column]) for column in places.labels]),
        tuple([_one_text(cells[column]) for column in places.choices]),
    )


def _one_text(cell: str | Sequence[str]) -> str:
    return cell if isinstance(cell, str) else " ".join(cell)


def _stripped(cell: str | Sequence[str]) -> str | tuple[str, ...]:
    return sys.intern(cell.strip()) if isinstance(cell, str) else tuple(part.strip() for part in cell)


def find_problem_type(file: OwnFile, kind: LabelKind) -> str:
    """What the flag says, or what the labels of a file are. InputError where decimals may be labels or numbers."""
    several = len(file.places.labels) > 1
    lists = any(isinstance(cell, tuple) for row in file.rows for cell in row.labels)
    if kind.problem_type is not None:
        if kind.problem_type != MULTI_LABEL and (several or lists or kind.label_separator):
            raise InputError(
                f"--problem_type={kind.problem_type}: {file.path} has several labels a row; give one label column, or "
                "--problem_type=multi_label"
            )
        return kind.problem_type
    if several or lists or kind.label_separator:
        return MULTI_LABEL
    decimals = [row for row in file.rows if "." in row.labels[0]]
    if decimals and all(is_number(str(row.labels[0])) for row in file.rows):
        first = decimals[0]
        raise InputError(
            f"{file.path}:{first.line}: the label is the decimal {first.labels[0]}: give --problem_type=regression if it is a "
            "number to predict, --problem_type=single_label if it is the name of a class"
        )
    return SINGLE_LABEL


def _is_whole(part: str) -> bool:
    """Whether a part of a label is a number; what has more digits than int() takes is none."""
    return part.isdecimal() and len(part) < _MOST_DIGITS


def natural_key(label: str) -> tuple:
    """For sorting: numbers by value before words, and 'grade 2' before 'grade 10'."""
    if is_number(label):
        return (0, float(label), (), label)
    parts = tuple((0, int(part), "") if _is_whole(part) else (1, 0, part) for part in re.split(r"(\d+)", label))
    return (1, 0.0, parts, label)


def find_own_labels(file: OwnFile, problem_type: str, separator: str | None) -> tuple[str, ...]:
    """The labels of a training file in natural order, or in that of its label columns; () for a regression.

    A label with one row is told, with the name that is most like it. InputError where there is one label alone, and where
    nearly every row has its own.
    """
    if problem_type == REGRESSION:
        return ()
    if len(file.places.labels) > 1:
        return tuple(file.places.called(column) for column in file.places.labels)
    found = [(name, row.line) for row in file.rows for name in _names(row, problem_type, separator) if name]
    counts = Counter(name for name, _ in found)
    if len(counts) < 2:
        one = f"has the label {quoted(next(iter(counts)))}" if counts else "is without a label"
        raise InputError(f"{file.path}: every row {one}; two labels are needed; check --label_column")
    if len(counts) > 20 and len(counts) > len(file.rows) / 2:
        column = file.places.called(file.places.labels[0])
        raise InputError(
            f"{file.path}:{file.rows[0].line}: column {column} holds {len(counts)} different "
            f"labels in {len(file.rows)} rows ({quoted(found[0][0])}); check --label_column, or name all labels with --labels"
        )
    for name, line in found:
        if counts[name] == 1:
            close = difflib.get_close_matches(name, [other for other in counts if other != name], n=1)
            hint = f"; the nearest other name is {quoted(close[0])}" if close else ""
            LOG.warning("%s:%d: warning: the label %s has this row alone%s", file.path, line, quoted(name), hint)
    return tuple(sorted(counts, key=natural_key))


def _names(row: OwnRow, problem_type: str, separator: str | None) -> tuple[str, ...]:
    """The labels in the one label cell of a row."""
    cell = row.labels[0]
    if isinstance(cell, tuple):
        return cell
    if problem_type != MULTI_LABEL:
        return (cell,)
    return tuple(part.strip() for part in (cell.split(separator) if separator else [cell]) if part.strip())


def own_examples(
    file: OwnFile, problem_type: str, labels: Sequence[str], separator: str | None, needs_label: bool = True
) -> list[ClassificationExample]:
    """The rows as examples; without labels where needs_label is false or the file has none.

    A label is a name among `labels`, the text of a finite number for a regression, or 0 or 1 for each of `labels`.
    InputError, with the line, for another one.
    """
    if not needs_label or not file.has_labels:
        return [ClassificationExample(row.identifier, row.text_a, row.text_b, None) for row in file.rows]
    if problem_type == REGRESSION:
        _check_numbers(file)
        made: Sequence[str | tuple[int, ...]] = [str(row.labels[0]) for row in file.rows]
    elif len(file.places.labels) > 1:
        made = _binary_columns(file, labels)
    else:
        made = _known_labels(file, problem_type, labels, separator)
    return [
        ClassificationExample(row.identifier, row.text_a, row.text_b, label)
        for row, label in zip(file.rows, made, strict=True)
    ]


def _check_numbers(file: OwnFile) -> None:
    for row in file.rows:
        try:
            is_finite = math.isfinite(float(str(row.labels[0])))
        except ValueError:
            is_finite = False
        if not is_finite:
            raise InputError(f"{file.path}:{row.line}: the label is {quoted(str(row.labels[0]))}, a number is needed")


def _binary_columns(file: OwnFile, labels: Sequence[str]) -> list[tuple[int, ...]]:
    """0 or 1 for each label, from as many columns; these may stand in another order than `labels`."""
    names = [file.places.called(column) for column in file.places.labels]
    if file.places.names is not None and set(names) == set(labels):
        order = [names.index(label) for label in labels]
    elif len(names) == len(labels):
        order = list(range(len(names)))
    else:
        raise InputError(
            f"{file.path}:1: label columns {', '.join(names)}, but the model's labels are {', '.join(labels)}"
        )
    for row in file.rows:
        for name, cell in zip(names, row.labels, strict=True):
            if cell not in ("0", "1"):
                raise InputError(f"{file.path}:{row.line}: column {name} is {quoted(str(cell))}, 0 or 1 is needed")
    return [tuple(int(str(row.labels[place])) for place in order) for row in file.rows]


def _known_labels(file: OwnFile, problem_type: str, labels: Sequence[str], separator: str | None) -> list:
    index = {label: number for number, label in enumerate(labels)}
    made: list[str | tuple[int, ...]] = []
    empty = [row.line for row in file.rows if problem_type == SINGLE_LABEL and not row.labels[0]]
    if empty:
        raise InputError(f"{file.path}:{empty[0]}: the label is empty{more(empty)}; every row needs one")
    named = [_names(row, problem_type, separator) for row in file.rows]
    unknown = [
        (row.line, name) for row, names in zip(file.rows, named, strict=True) for name in names if name not in index
    ]
    if unknown:
        line, name = unknown[0]
        listed = ", ".join(labels[:10]) + (", …" if len(labels) > 10 else "")
        raise InputError(
            f"{file.path}:{line}: label {quoted(name)} is not among those of the training data, {listed}{more(unknown)}; "
            "correct it, or name all labels with --labels"
        )
    for names in named:
        made.append(names[0] if problem_type == SINGLE_LABEL else tuple(int(label in names) for label in labels))
    return made
