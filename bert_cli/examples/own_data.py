"""A user's own file -> ClassificationExample records: what kind of problem it is, its labels, and a
part to evaluate on.

read_own_file gives the rows; find_problem_type and find_own_labels look at the rows of the training
file, once; own_examples checks the labels of a file against them.
"""

import difflib
import itertools
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.messages import more, quoted
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.own_columns import SAMPLE, ColumnIndices, find_columns
from bert_cli.examples.own_rows import check_width, read_rows
from bert_cli.examples.tables import Row, Table, is_number
from bert_cli.problem_types.columns import LabelCells
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.settings.data import NOT_TRAINED, PLAIN, Columns, TextForm, TrainedColumns

# Of pandas, R and spreadsheets. "None" and "NA" are left out: they are names of classes as well.
_MISSING = re.compile(r"nan|<na>|#?n/a|null", re.IGNORECASE)
_MOST_DIGITS = 4300  # of a number that int() takes


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
        """How flags name the columns."""
        names = [self.columns.called(column) for column in columns]
        # By number where the name cannot be given as a flag: flags split lists at commas and strip
        # spaces.
        is_plain = not any("," in name or name != name.strip() or names.count(name) > 1 for name in names)
        return tuple(names if is_plain else map(str, columns))

    def column_flags(self) -> dict[str, str]:
        """Values of flags with which another file is read as this one was."""
        text_b = self.columns.text_b
        found = {
            "text_column": self.written([self.columns.text_a])[0],
            "label_column": ",".join(self.written(self.columns.labels)),
        }
        return found | ({} if text_b is None else {"text_b_column": self.written([text_b])[0]})

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
    source: str | Table,
    split: str,
    columns: Columns,
    header: str,
    flag: str,
    needs_label: bool,
    choices: Sequence[str] = (),
    form: TextForm = PLAIN,
    trained: TrainedColumns = NOT_TRAINED,
) -> OwnFile:
    """The rows of one file, or of a table in memory.

    split: the beginning of the ids of a file without ids: `<split>-<row, from 0>`. flag: named
    where the file is missing. needs_label, choices, trained: see find_columns. form: see
    own_rows.read_rows. An empty text is logged, with its line, and kept: it is answered as an empty
    text. InputError for a file without rows, a row that is not as wide as the first one, and what
    own_rows and own_columns refuse.
    """
    if isinstance(source, str):
        path = source
        stream = read_rows(source, flag, form)
    else:
        path = source.name
        stream = source.with_names()
    # The first rows decide about the columns and the header; they are examples as well.
    sample = list(itertools.islice(stream, SAMPLE))
    if not sample:
        wanted = "rows of a text and a label" if needs_label else "rows of texts"
        raise InputError(f"{path}: is empty; {wanted} are needed")
    indices = find_columns(path, sample, columns, header, needs_label, choices, trained)
    rows: list[OwnRow] = []
    empty: list[int] = []
    for row in itertools.chain(sample if indices.names is None else sample[1:], stream):
        check_width(path, row, indices.width, form.encoding)
        rows.append(_own_row(row, indices, f"{split}-{len(rows)}"))
        # Kept: predictions have a row for each row of the file.
        if not rows[-1].text_a.strip():
            empty.append(row.line)
    if not rows:
        raise InputError(f"{path}: holds no row below its header; check the file")
    if empty:
        LOG.warning("%s:%d: the text is empty%s", path, empty[0], more(empty))
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


def find_problem_type(file: OwnFile, separator: str | None) -> ProblemType:
    """The problem type that the labels of a file have. InputError where decimals may be labels or
    numbers.
    """
    has_lists = any(isinstance(cell, tuple) for row in file.rows for cell in row.labels)
    # Flags and lists leave no doubt; a cell such as "a,b" without them is one label.
    if has_lists or separator or len(file.columns.labels) > 1:
        return MULTI_LABEL
    decimals = [row for row in file.rows if "." in row.labels[0]]
    # Whole numbers are taken for names of classes; only a decimal point leaves it open.
    if decimals and all(is_number(str(row.labels[0])) for row in file.rows):
        first = decimals[0]
        raise InputError(
            f"{file.path}:{first.line}: the label is the decimal {first.labels[0]}: give "
            "--problem_type=regression if it is a number to predict, --problem_type=single_label "
            "if it is the name of a class"
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


def find_own_labels(file: OwnFile, problem_type: ProblemType, separator: str | None) -> tuple[str, ...]:
    """The labels of a training file in natural order, or in the order of its label columns; ()
    where outputs have no names.

    A label with one row is logged, with the name that is most like it. InputError where there is
    one label alone, and where nearly every row has its own.
    """
    cells = file.label_cells(separator)
    stated = problem_type.stated_labels(cells)
    if stated is not None:
        return stated
    found = [
        (name, line) for row, line in enumerate(cells.lines) for name in problem_type.cell_labels(cells, row) if name
    ]
    counts = Counter(name for name, _ in found)
    if len(counts) < 2:
        one = f"has the label {quoted(next(iter(counts)))}" if counts else "is without a label"
        raise InputError(f"{file.path}: every row {one}; two labels are needed; check --label_column")
    # Texts in the label column: a training set has many rows of a label.
    if len(counts) > 20 and len(counts) > len(file.rows) / 2:
        raise InputError(
            f"{file.path}:{file.rows[0].line}: column {cells.columns[0]} holds {len(counts)} "
            f"different labels in {len(file.rows)} rows ({quoted(found[0][0])}); check "
            "--label_column, or name all labels with --labels"
        )
    for name, line in found:
        if counts[name] == 1:
            # A label with one row is mostly a typing error.
            close = difflib.get_close_matches(name, [other for other in counts if other != name], n=1)
            hint = f"; the nearest other name is {quoted(close[0])}" if close else ""
            LOG.warning("%s:%d: warning: label %s occurs only once%s", file.path, line, quoted(name), hint)
    warn_of_missing(file.path, counts)
    return tuple(sorted(counts, key=natural_key))


def warn_of_missing(path: str, counts: Mapping[str, int]) -> None:
    """Log each label that other programs write for a missing value; counts: the rows of each label."""
    for name in filter(_MISSING.fullmatch, counts):
        LOG.warning(
            "%s: warning: %d row(s) have the label %s, which other programs write for a missing value; remove them if they "
            "have no label", path, counts[name], quoted(name),
        )  # fmt: skip


def own_examples(
    file: OwnFile, problem_type: ProblemType, labels: Sequence[str], separator: str | None, needs_label: bool = True
) -> list[ClassificationExample]:
    """The rows as examples; without labels where needs_label is false or the file has none.

    Their labels are what ProblemType.parse makes of the cells. InputError, with the line, for a
    label that does not fit.
    """
    parsed: Sequence[Any] = [None] * len(file.rows)
    if needs_label and file.has_labels:
        parsed = problem_type.parse(file.label_cells(separator), labels)
    return [
        ClassificationExample(row.identifier, row.text_a, row.text_b, label)
        for row, label in zip(file.rows, parsed, strict=True)
    ]
