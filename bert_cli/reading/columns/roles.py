"""Columns of a table with their roles, such as text and label."""

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_some, quote
from bert_cli.reading.columns.answers import is_accepted
from bert_cli.reading.columns.facts import DataFacts, table_facts
from bert_cli.reading.exports.cells import split_path
from bert_cli.reading.header import AUTO
from bert_cli.reading.rows import LeftOutRows, Row
from bert_cli.settings.data import ALL_COLUMNS, NOT_TRAINED, Columns, RowColumns, TrainedColumns


class ColumnRules(NamedTuple):
    """Rules with which a table's columns are found.

    Attributes:
        columns: column flag values.
        header: whether the first row is a header: yes, no or auto.
        needs_label: whether the file is for training or evaluation. Files to predict may lack the
            label column that a flag names.
        choices: choice columns, as flags name them.
        trained: columns from the training run. They are used if the table has the same columns.
        keep: columns that predictions also have, see settings.data.KeptColumns.
        rows: columns with properties of rows for training.
    """

    columns: Columns = Columns()
    header: str = AUTO
    needs_label: bool = True
    choices: Sequence[str] = ()
    trained: TrainedColumns = NOT_TRAINED
    keep: Sequence[str] = ()
    rows: RowColumns = RowColumns()

    @property
    def flag_columns(self) -> list[str]:
        """Return the column names or numbers from all column flags."""
        columns = self.columns
        values = (
            columns.text_column, columns.text_b_column, *self.choices, *columns.label_columns, columns.id_column,
            self.rows.group_column, self.rows.weight_column,
        )  # fmt: skip
        return [name for name in values if name is not None]


@dataclass(frozen=True)
class TableColumns:
    """Table columns as 0-based numbers.

    Attributes:
        width: number of columns.
        names: all column names, or None without a header.
        text_a: text column.
        text_b: column with a pair's second text, or None.
        labels: label columns, () without labels.
        identifier: column of ids, or None.
        choices: columns used for the choices in multiple choice.
        answer: column with Prodigy's answers, or None.
        group: column of groups, or None.
        weight: column of weights, or None.
        may_have_pairs: whether ` ||| ` in the text separates a pair, as in a file of lines.
    """

    width: int
    names: tuple[str, ...] | None
    text_a: int
    text_b: int | None
    labels: tuple[int, ...]
    identifier: int | None
    choices: tuple[int, ...] = ()
    answer: int | None = None
    group: int | None = None
    weight: int | None = None
    may_have_pairs: bool = False

    @property
    def roles(self) -> dict[str, tuple[int, ...]]:
        """Return the used columns by role, see facts.ROLES."""
        columns = {
            "text": self.text_a, "text_b": self.text_b, "id": self.identifier, "answer": self.answer, "group": self.group,
            "weight": self.weight,
        }  # fmt: skip
        single = {role: () if column is None else (column,) for role, column in columns.items()}
        return {**single, "choices": self.choices, "label": self.labels}

    def facts(
        self,
        path: str,
        num_rows: int,
        left_out: Sequence[LeftOutRows] = (),
        kept: Collection[int] = (),
        unread: Collection[str] = (),
    ) -> DataFacts:
        """Return the account of a file with these columns.

        Args:
            path: the file's name.
            num_rows: number of rows that are used.
            left_out: rows that are not used.
            kept: columns that predictions also have.
            unread: members without a column, see TableFile.rows.
        """
        if self.names is None and self.width == 1:
            return DataFacts(path, num_rows, not_used=list(unread), left_out=left_out, form="a list of texts")
        # A column of objects is used if a flag names one of their members.
        used_names = [self.column_name(column) for column in itertools.chain(*self.roles.values())]
        paths = [split_path(name, self.names or ()) for name in used_names]
        used = set(itertools.chain(*self.roles.values()))
        copied = tuple(column for column in kept if column not in used)
        roles = self.roles | {"objects": tuple(path[0] for path in paths if path), "kept": copied}
        facts = table_facts(path, self.names, self.width, roles, left_out).use(num_rows)
        return replace(facts, not_used=[*facts.not_used, *unread])

    def find_kept(self, path: str, rules: ColumnRules, paths: Sequence[str] = ()) -> dict[str, int]:
        """Return the columns of --keep_columns by name; raise InputError for a missing one.

        Args:
            path: the file, for messages.
            paths: columns that are members of other ones, which are not columns of the file.
        """
        if list(rules.keep) == [ALL_COLUMNS]:
            columns = [column for column in range(self.width) if self.column_name(column) not in paths]
        else:
            found = {name: find_column(name, self.names or (), self.width) for name in rules.keep}
            missing = [name for name, column in found.items() if column is None]
            if missing:
                shown = list_some([quote(self.column_name(column)) for column in range(self.width)])
                raise InputError(
                    f"{path}:1: --keep_columns={missing[0]}: there is no such column; the file has {shown}"
                )
            columns = [column for column in found.values() if column is not None]
        # The predictions have texts and ids in columns with these names.
        written = {"text": self.text_a, "text_b": self.text_b, "id": self.identifier}
        names = unique_names([self.column_name(column) for column in columns])
        return {
            name: column
            for name, column in zip(names, columns, strict=True)
            if written.get(self.column_name(column), -1) != column
        }

    def column_name(self, column: int) -> str:
        """Return a column's name, or its number if it has no name."""
        # A header may have fewer names than the rows have columns.
        name = self.names[column] if self.names and column < len(self.names) else ""
        return name or str(column)

    def is_rejected(self, row: Row) -> bool:
        """Return whether an annotator rejected or ignored the row in Prodigy."""
        return self.answer is not None and not is_accepted(row.cell(self.answer))

    def is_repeated_header(self, row: Row) -> bool:
        """Return whether a row repeats the header, as in concatenated files."""
        # In a table with one column, a cell such as "text" may be a text.
        if self.names is None or self.width == 1 or len(row.cells) != self.width:
            return False
        cells = [str(cell).strip() for cell in row.cells]
        # Each concatenated file may begin with a byte-order mark.
        cells[0] = cells[0].removeprefix("\ufeff").strip('"')
        return tuple(cells) == self.names


def unique_names(names: Iterable[str], taken: Collection[str] = ()) -> list[str]:
    """Return names with input_ in front of those that another column has.

    Args:
        taken: names of other columns.
    """
    unique: dict[str, None] = {}
    for name in names:
        while name in unique or name in taken:
            name = f"input_{name}"
        unique[name] = None
    return list(unique)


def find_column(name: str, names: Sequence[str], width: int) -> int | None:
    """Return the column index for a flag value, or None.

    Args:
        name: flag value: a column name, or a 0-based number.
        names: column names in the header.
        width: number of columns.
    """
    # Try the name first: columns may have the names 0, 1, 2 in a different order.
    if names.count(name) == 1:
        return names.index(name)
    return int(name) if name.isdecimal() and int(name) < width else None
