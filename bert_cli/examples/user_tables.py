"""Reader of user tables: rows with labels become ClassificationExample records.

`read_user_table` returns rows with label cells. examples.labels converts the label cells, and
`make_examples` combines both.
"""

import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from bert_cli.base.errors import InputError
from bert_cli.base.formats import count_more, quote
from bert_cli.base.log import LOG
from bert_cli.base.names import PAIR_MARK, join_names
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.labels.answers import ProdigyAnswers
from bert_cli.examples.labels.unlabeled import drop_unlabeled
from bert_cli.examples.labels.written_lists import is_span_list, parse_list
from bert_cli.examples.text_lines import split_line
from bert_cli.problem_types.columns import LabelCells, soft_labels_error
from bert_cli.reading.columns.answers import are_answers
from bert_cli.reading.columns.facts import ROLES, DataFacts
from bert_cli.reading.columns.find import SAMPLE, find_columns
from bert_cli.reading.columns.roles import ColumnRules, TableColumns
from bert_cli.reading.columns.row_values import normalize_weights, read_group, read_weight
from bert_cli.reading.exports.cells import DecimalList, JsonCell, Unannotated
from bert_cli.reading.probe import TableFile
from bert_cli.reading.rows import LeftOutRows, Row


class UserRow(NamedTuple):
    """One row in a user table.

    Attributes:
        line: 1-based number of its first line.
        identifier: its id.
        text_a: the text, or a pair's first text.
        text_b: a pair's second text, or None.
        labels: label cells without leading and trailing spaces. A JSON list is a tuple.
        choices: unchanged texts from the choice columns.
        answer: cell of the column with Prodigy's answers, "" without such a column.
        kept: cells for the predictions, by column name; None without --keep_columns.
        group, weight: values of --group_column and --weight_column, None without them.
    """

    line: int
    identifier: str
    text_a: str
    text_b: str | None
    labels: tuple[str | tuple[str, ...], ...]
    choices: tuple[str, ...] = ()
    answer: str = ""
    kept: Mapping[str, Any] | None = None
    group: str | None = None
    weight: float | None = None


@dataclass(frozen=True)
class UserTable:
    """A table's rows and columns.

    Attributes:
        path: the table's path, for messages.
        columns: column numbers and names.
        rows: all rows without the header.
        left_out: rows of the file that are not in `rows`.
        kept: columns that predictions also have.
        uses_labels: whether the file is for training or evaluation; predictions read no labels.
        unread: members of nested values that are in no column, see `TableFile.rows`.
    """

    path: str
    columns: TableColumns
    rows: list[UserRow]
    left_out: tuple[LeftOutRows, ...] = ()
    kept: tuple[int, ...] = ()
    uses_labels: bool = True
    unread: tuple[str, ...] = ()

    @property
    def facts(self) -> DataFacts:
        """Return the account of the file."""
        columns = self.columns if self.uses_labels else replace(self.columns, labels=())
        return columns.facts(self.path, len(self.rows), self.left_out, self.kept, self.unread)

    @property
    def has_labels(self) -> bool:
        return bool(self.columns.labels)

    def flag_names(self, columns: Sequence[int]) -> tuple[str, ...]:
        """Return the columns as flags name them: by name, or by number.

        Numbers are used if there is no header, or if it repeats a name.
        """
        names = self.columns.names
        if names is None or any(names.count(names[column]) > 1 for column in columns):
            return tuple(map(str, columns))
        return tuple(names[column] for column in columns)

    def column_flags(self) -> dict[str, str]:
        """Return the flag values that select the same columns in another file."""
        text_b = self.columns.text_b
        flags = {
            "text_column": self.flag_names([self.columns.text_a])[0],
            "label_column": join_names(self.flag_names(self.columns.labels)),
        }
        return flags | ({} if text_b is None else {"text_b_column": self.flag_names([text_b])[0]})

    @property
    def weights(self) -> Sequence[float | None]:
        """Return row weights with a mean of 1, or None per row without a column of weights."""
        if self.columns.weight is None:
            return [None] * len(self.rows)
        weights = [row.weight for row in self.rows if row.weight is not None]
        return normalize_weights(self.path, self.columns.column_name(self.columns.weight), weights)

    @property
    def answers(self) -> ProdigyAnswers | None:
        """Return Prodigy's answers, or None if the table has no such column."""
        values = [row.answer for row in self.rows]
        # Another column of this name may begin with such words.
        if self.columns.answer is None or not are_answers(values):
            return None
        return ProdigyAnswers(values, [(row.text_a, row.text_b) for row in self.rows])

    def label_cells(self, separator: str | None, are_distributions: bool = False) -> LabelCells:
        """Return the label cells for a problem type.

        Args:
            separator: separator used between labels in a cell, None if each cell is one label.
            are_distributions: whether cells may have lists of probabilities.

        Raises:
            InputError: a label cell has a list of probabilities.
        """
        for row in self.rows if not are_distributions else ():
            for cell in row.labels:
                if isinstance(cell, DecimalList):
                    raise soft_labels_error(f"{self.path}:{row.line}", f"[{', '.join(cell)}]")
        return LabelCells(
            path=self.path,
            lines=[row.line for row in self.rows],
            rows=[row.labels for row in self.rows],
            columns=tuple(map(self.columns.column_name, self.columns.labels)),
            has_header=self.columns.names is not None,
            separator=separator,
        )


def read_user_table(
    table: TableFile,
    split: str,
    rules: ColumnRules,
) -> UserTable:
    """Read the table rows.

    Empty texts are kept and logged. Rows that repeat the header are left out.

    Args:
        table: the file, or a table in memory.
        split: prefix for row ids if the table has no ids: `<split>-<row number from 0>`.
        rules: how to find the columns.

    Raises:
        InputError: the table has no rows, a row is wider or narrower than the first one, or a
            column is missing or ambiguous.
    """
    path = table.path
    table = table.with_paths([*rules.flag_columns, *rules.keep])
    left_out: list[LeftOutRows] = []
    unread: dict[str, None] = {}
    stream = table.filled_rows(left_out=left_out, unread=unread)
    sample = list(itertools.islice(stream, SAMPLE))
    if not sample:
        expected = "rows of a text and a label" if rules.needs_label else "rows of texts"
        raise InputError(f"{path}: is empty; {expected} are needed")
    indices = find_columns(table, sample, rules)
    kept = indices.find_kept(path, rules, table.paths) if rules.keep else {}
    rows: list[UserRow] = []
    empty_lines: list[int] = []
    header_lines: list[int] = []
    unannotated_lines: list[int] = []
    check_cells = make_cell_check(path, indices)
    for row in itertools.chain(sample if indices.names is None else sample[1:], stream):
        table.check_width(row, indices.width)
        if indices.is_repeated_header(row):
            header_lines.append(row.line)
            continue
        if rules.needs_label and any(isinstance(row.cells[column], Unannotated) for column in indices.labels):
            unannotated_lines.append(row.line)
            continue
        check_cells(row)
        rows.append(_make_row(row, indices, f"{split}-{len(rows)}"))
        if kept:
            rows[-1] = rows[-1]._replace(kept={name: row.cells[column] for name, column in kept.items()})
        if not rules.rows.is_empty:
            group, weight = read_group(path, row, indices), read_weight(path, row, indices)
            rows[-1] = rows[-1]._replace(group=group, weight=weight)
        if indices.may_have_pairs:
            rows[-1] = _split_pair(path, rows[-1], rules.trained.num_texts == 2)
        # Keep empty texts: predictions need a row per row in the file.
        if not rows[-1].text_a.strip():
            empty_lines.append(row.line)
    if not rows:
        raise InputError(f"{path}: holds no row below its header; check the file")
    if len(empty_lines) == len(rows) and rules.needs_label:
        raise InputError(
            f"{path}:{empty_lines[0]}: every text is empty, so there is nothing to learn; check --text_column"
        )
    if empty_lines:
        LOG.warning("%s:%d: the text is empty%s", path, empty_lines[0], count_more(empty_lines))
    repeated = LeftOutRows.of_lines("rows that repeat the header, as in joined files", header_lines)
    unannotated = LeftOutRows.of_lines("texts that nobody has annotated", unannotated_lines)
    all_left_out = (*left_out, *repeated, *unannotated)
    return UserTable(path, indices, rows, all_left_out, tuple(kept.values()), rules.needs_label, tuple(unread))


class UsedColumns(Protocol):
    """The columns of a table by role, see facts.ROLES."""

    @property
    def roles(self) -> Mapping[str, Sequence[int]]: ...

    def column_name(self, column: int) -> str:
        """Return a column's name, or its number if it has no name."""


# Role of columns -> flag that names them, if it is not <role>_column.
_FLAGS = {"choices": "choice_columns", "negatives": "negative_columns"}


def make_cell_check(path: str, columns: UsedColumns) -> Callable[[Row], None]:
    """Return a check that raises InputError for an object or a list of objects in a used column.

    A label may be an object that is a list of labels, such as spaCy's "cats".
    """
    used = [(role, column) for role, columns_of_role in columns.roles.items() for column in columns_of_role]

    def check(row: Row) -> None:
        for role, column in used:
            cell = row.cells[column]
            if isinstance(cell, JsonCell) and not (role == "label" and (parse_list(cell) or is_span_list(cell))):
                name, flag = columns.column_name(column), _FLAGS.get(role, f"{role}_column")
                paths = cell.text_paths(name)
                has_member = bool(paths) and paths[0] != name
                advice = f"name a member by its path, as in --{flag}={paths[0]}" if has_member else f"check --{flag}"
                others = f" with texts in {', '.join(paths)}" if len(paths) > 1 else ""
                raise InputError(
                    f"{path}:{row.line}: the {ROLES[role]} from {quote(name)} is {cell.json_type}{others}; {advice}"
                )

    return check


def _make_row(row: Row, indices: TableColumns, default_id: str) -> UserRow:
    cells = row.cells
    identifier = "" if indices.identifier is None else join_text(cells[indices.identifier])
    return UserRow(
        row.line,
        identifier if identifier.strip() else default_id,
        join_text(cells[indices.text_a]),
        None if indices.text_b is None else join_text(cells[indices.text_b]),
        tuple([_strip_label(cells[column]) for column in indices.labels]),
        tuple([join_text(cells[column]) for column in indices.choices]),
        "" if indices.answer is None else sys.intern(join_text(cells[indices.answer])),
    )


def _split_pair(path: str, row: UserRow, needs_pair: bool) -> UserRow:
    """Return a row of a text list with a pair's two texts, see `split_line`.

    Raise InputError for a single text if `needs_pair`.
    """
    line = split_line(row.text_a)
    if line.text_b is not None:
        return row._replace(text_a=line.text_a, text_b=line.text_b)
    if needs_pair:
        raise InputError(
            f"{path}:{row.line}: one text, and the model was trained on pairs; put '{PAIR_MARK}' between the two, or "
            "give a table with two columns of texts"
        )
    return row


def join_text(cell: str | Sequence[str]) -> str:
    """Return the text of a cell; a JSON list in a text column has one text's sentences or words."""
    return cell if isinstance(cell, str) else " ".join(cell)


def _strip_label(cell: str | tuple[str, ...]) -> str | tuple[str, ...]:
    # Use one string object per label instead of one per row, which saves memory.
    return sys.intern(cell.strip()) if isinstance(cell, str) else type(cell)(name.strip() for name in cell)


def skip_unlabeled_rows(table: UserTable) -> UserTable:
    """Return the table without unlabeled rows."""
    labeled, left_out = drop_unlabeled(table.label_cells(None), None)
    return replace(table, rows=[table.rows[row] for row in labeled], left_out=(*table.left_out, *left_out))


def make_examples(
    table: UserTable,
    labels: Sequence[Any] | None = None,
    distributions: Sequence[tuple[float, ...] | None] = (),
) -> list[ClassificationExample]:
    """Combine rows and labels into examples.

    Args:
        table: table rows.
        labels: label per row from LabelReader.parse, None for an unlabeled row. None if labels are
            not read.
        distributions: see FileLabels.
    """
    unlabeled = [None] * len(table.rows)
    values = zip(table.rows, labels or unlabeled, table.weights, distributions or unlabeled, strict=True)
    return [
        ClassificationExample(
            row.identifier,
            row.text_a,
            row.text_b,
            label,
            kept=row.kept,
            group=row.group,
            weight=weight,
            distribution=distribution,
        )
        for row, label, weight, distribution in values
    ]
