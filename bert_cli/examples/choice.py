"""Reader of multiple-choice tables: user tables and SWAG files become ChoiceExample records."""

import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.formats import quote
from bert_cli.examples.glue import FileLayout
from bert_cli.examples.user_tables import UserRow, UserTable, read_user_table
from bert_cli.reading.columns.roles import ColumnRules
from bert_cli.reading.header import YES
from bert_cli.reading.probe import open_table
from bert_cli.reading.rows import refuse_rows
from bert_cli.settings.data import PLAIN, TextForm

AUTO = "auto"
FROM_0 = "0"
FROM_1 = "1"
LETTER = "letter"
NAME = "name"
# Descriptions for messages.
CHOICE_LABELS = {
    FROM_0: "the number in the label column, from 0,",
    FROM_1: "the number in the label column, from 1,",
    LETTER: "the letter in the label column",
    NAME: "the column that the label names",
}


@dataclass(frozen=True, slots=True)
class ChoiceExample:
    """One row with K choices.

    Attributes:
        guid: row id.
        context: text that all choices continue.
        choices: the K choices.
        label: 0-based index of the correct choice, or None in a test file.
        identifier: row id from the file's id column, or "".
        kept: cells that the predictions also have, by column name; None without --keep_columns.
        group: the row's group, such as a document; None without --group_column.
        weight: factor of the row's loss, with a mean of 1 over the table; None for equal weights.
    """

    guid: str
    context: str
    choices: tuple[str, ...]
    label: int | None
    identifier: str = field(default="", compare=False)
    kept: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    group: str | None = field(default=None, compare=False, repr=False)
    weight: float | None = field(default=None, compare=False, repr=False)


def make_choice_examples(
    table: UserTable,
    label_form: str,
    needs_label: bool = True,
) -> list[ChoiceExample]:
    """Convert table rows to examples.

    If the table has a second text, each choice continues it.

    Args:
        table: table rows.
        label_form: label spelling, see find_choice_labels.
        needs_label: whether labels are read if the table has them.

    Raises:
        InputError: a choice is empty, or a label does not name a choice; with the line.
    """
    _check_choices(table)
    if label_form == NAME and table.columns.names is None:
        raise InputError(f"--choice_labels={NAME}: {table.path} is read without a header; see --header")
    has_labels = needs_label and table.has_labels
    indices = _label_indices(table, _label_spellings(table, label_form)) if has_labels else [None] * len(table.rows)
    return [
        ChoiceExample(
            row.identifier, row.text_a, _full_choices(row), index, kept=row.kept, group=row.group, weight=weight
        )
        for row, index, weight in zip(table.rows, indices, table.weights, strict=True)
    ]


def _full_choices(row: UserRow) -> tuple[str, ...]:
    # In SWAG, choices continue an incomplete second sentence.
    return row.choices if not row.text_b else tuple(f"{row.text_b} {choice}" for choice in row.choices)


def _check_choices(table: UserTable) -> None:
    empty = [(row.line, index) for row in table.rows for index, text in enumerate(row.choices) if not text.strip()]
    names = [table.columns.column_name(column) for column in table.columns.choices]
    refuse_rows(
        table.path, empty, lambda index: f"the ending in column {names[index]} is empty", "every row needs all of them"
    )


def find_choice_labels(table: UserTable) -> str:
    """Return the label form that fits all rows.

    For K choices, the forms are NAME (a choice's column name), LETTER (A, B …), FROM_0 (0 to K-1)
    and FROM_1 (1 to K). If no form fits all rows, return the form that fits most rows.

    Raises:
        InputError: all labels are from 1 to K-1, so they may count from 0 or from 1.
    """
    labels = {_label(row) for row in table.rows}
    # Try names first: labels 0 and 1 may be the names of columns.
    fitting = [form for form in (NAME, LETTER, FROM_0, FROM_1) if labels <= _label_spellings(table, form).keys()]
    if {FROM_0, FROM_1} <= set(fitting) and NAME not in fitting:
        raise InputError(
            f"{table.path}: the labels are {', '.join(sorted(labels))}, so it is not clear whether "
            "they count from 0 or from 1; give --choice_labels=0 or --choice_labels=1"
        )
    if fitting:
        return fitting[0]
    # The caller reports the rows that do not fit, so choose the form of most rows.
    counts = Counter(_label(row) for row in table.rows)
    num_fitting = {
        form: sum(counts[label] for label in _label_spellings(table, form)) for form in (FROM_0, NAME, LETTER)
    }
    return max(num_fitting, key=lambda form: num_fitting[form])


def _label(row: UserRow) -> str:
    return str(row.labels[0])


def _label_spellings(table: UserTable, label_form: str) -> dict[str, int]:
    """Return each possible label with its choice's index."""
    count = len(table.columns.choices)
    if label_form == NAME and table.columns.names is None:
        return {}
    if label_form == NAME:
        return {table.columns.column_name(column): index for index, column in enumerate(table.columns.choices)}
    if label_form == LETTER:
        return {letter: index for index, letter in enumerate(string.ascii_uppercase[:count])}
    first = int(label_form)
    return {str(index + first): index for index in range(count)}


def _label_indices(table: UserTable, spellings: dict[str, int]) -> list[int]:
    wrong = [(row.line, _label(row)) for row in table.rows if _label(row) not in spellings]
    labels = list(spellings)
    advice = "correct it, or see --choice_labels"
    refuse_rows(
        table.path,
        wrong,
        lambda label: f"label {quote(label)} is none of the endings, {labels[0]} to {labels[-1]}",
        advice,
    )
    return [spellings[_label(row)] for row in table.rows]


def read_choice_file(
    path: str,
    split: str,
    layout: FileLayout,
    flag: str,
    id_column: str | None = None,
    form: TextForm = PLAIN,
) -> UserTable:
    """Read a multiple-choice task's file.

    Args:
        path: the file.
        split: prefix for row ids, see `read_user_table`.
        layout: the task's file layout.
        flag: flag that gives the path, for messages.
        id_column: column of ids, or None.
        form: values of --encoding, --quoting and --sheet.

    Raises:
        InputError: a column is missing.
    """
    assert layout.named is not None, "the layouts of a choice have names"
    # Read the header separately: read_user_table cannot name all columns of a task in its error.
    table = open_table(path, flag, form)
    first = next(table.filled_rows(warns=False), None)
    header = {str(cell).strip() for cell in first.cells} if first else set()
    named = replace(layout.named, id_column=id_column)
    required = [named.text_column, named.text_b_column, *layout.choices, named.label_column]
    missing = [name for name in required if name and name not in header]
    if first and missing:
        raise InputError(
            f"{path}:1: has no column {', '.join(missing)}; the header of this file is "
            f"{layout.columns}; other columns are named with --choice_columns, --text_column and "
            "--label_column, without --task_name"
        )
    return read_user_table(table, split, ColumnRules(named, YES, named.label_column is not None, layout.choices))


def describe_choices(examples: Sequence[ChoiceExample]) -> str:
    """Summarize examples for the log.

    For example "4 examples of 3 endings; right: 0 2 (50.0%), 1 1 (25.0%), 2 1 (25.0%)".
    """
    text = f"{len(examples)} examples of {len(examples[0].choices)} endings"
    counts = Counter(example.label for example in examples if example.label is not None)
    if not counts:
        return f"{text}, no labels"
    shares = [
        f"{index} {counts[index]} ({counts[index] / len(examples):.1%})" for index in range(len(examples[0].choices))
    ]
    return f"{text}; right: {', '.join(shares)}"
