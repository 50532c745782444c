"""Tables of a text, its endings and which of them is right -> ChoiceExample records: a user's own
tables, and swag's.
"""

import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bert_cli.base.errors import InputError
from bert_cli.base.messages import quote
from bert_cli.examples.glue import FileLayout
from bert_cli.examples.own_data import OwnFile, OwnRow, read_own_file
from bert_cli.examples.table_files.probe import open_table
from bert_cli.examples.table_files.rows import refuse_rows
from bert_cli.settings.data import PLAIN, TextForm

AUTO = "auto"
FROM_0 = "0"
FROM_1 = "1"
LETTER = "letter"
NAME = "name"
# How a file says which ending is right, in words.
CHOICE_LABELS = {
    FROM_0: "the number in the label column, from 0,",
    FROM_1: "the number in the label column, from 1,",
    LETTER: "the letter in the label column",
    NAME: "the column that the label names",
}


@dataclass(frozen=True, slots=True)
class ChoiceExample:
    """One row: `label` is the place of the right one of its K endings, from 0; None for the rows of
    a test file.
    """

    guid: str
    context: str
    endings: tuple[str, ...]
    label: int | None
    identifier: str = field(default="", compare=False)


def choice_examples(file: OwnFile, written: str, needs_label: bool = True) -> list[ChoiceExample]:
    """The rows as examples; without labels where needs_label is false or the file has none.

    written: how the labels are, see find_choice_labels. Where the file has a second text, each
    ending continues it. InputError, with the line, for an empty ending and for a label that is none
    of the endings.
    """
    _check_endings(file)
    if written == NAME and file.columns.names is None:
        raise InputError(f"--choice_labels={NAME}: {file.path} is read without a header; see --header")
    has_labels = needs_label and file.has_labels
    indices = _label_indices(file, _spellings(file, written)) if has_labels else [None] * len(file.rows)
    return [
        ChoiceExample(row.identifier, row.text_a, _whole(row), place)
        for row, place in zip(file.rows, indices, strict=True)
    ]


def _whole(row: OwnRow) -> tuple[str, ...]:
    # As in SWAG, whose endings continue the beginning of a second sentence.
    return row.choices if not row.text_b else tuple(f"{row.text_b} {ending}" for ending in row.choices)


def _check_endings(file: OwnFile) -> None:
    empty = [(row.line, place) for row in file.rows for place, text in enumerate(row.choices) if not text.strip()]
    names = [file.columns.called(column) for column in file.columns.choices]
    refuse_rows(
        file.path, empty, lambda place: f"the ending in column {names[place]} is empty", "every row needs all of them"
    )


def find_choice_labels(file: OwnFile) -> str:
    """How a file says which of K endings is right: NAME, the name of the column; LETTER, A, B …;
    FROM_0, 0 to K-1; or FROM_1, 1 to K.

    What holds for all rows counts, names first. InputError where the labels are from 1 to K-1, so
    that both may be meant, or where nothing fits.
    """
    found = {_cell(row) for row in file.rows}
    # Names first: endings in columns called 0 and 1 are named by them.
    fitting = [each for each in (NAME, LETTER, FROM_0, FROM_1) if found <= _spellings(file, each).keys()]
    # Labels 1 to K-1 alone: a file from 0 without a first ending, or one from 1 without a last one.
    if {FROM_0, FROM_1} <= set(fitting) and NAME not in fitting:
        raise InputError(
            f"{file.path}: the labels are {', '.join(sorted(found))}, so it is not clear whether "
            "they count from 0 or from 1; give --choice_labels=0 or --choice_labels=1"
        )
    if fitting:
        return fitting[0]
    # The error names the reading that fits most rows.
    counts = Counter(_cell(row) for row in file.rows)
    # No form fits all rows; the error should be about the form that most rows have.
    known = {each: sum(counts[name] for name in _spellings(file, each)) for each in (FROM_0, NAME, LETTER)}
    return max(known, key=lambda each: known[each])


def _cell(row: OwnRow) -> str:
    return str(row.labels[0])


def _spellings(file: OwnFile, written: str) -> dict[str, int]:
    """What a label may be -> the place of the ending."""
    count = len(file.columns.choices)
    if written == NAME and file.columns.names is None:
        return {}
    if written == NAME:
        return {file.columns.called(column): place for place, column in enumerate(file.columns.choices)}
    if written == LETTER:
        return {letter: place for place, letter in enumerate(string.ascii_uppercase[:count])}
    first = int(written)
    return {str(place + first): place for place in range(count)}


def _label_indices(file: OwnFile, spellings: dict[str, int]) -> list[int]:
    wrong = [(row.line, _cell(row)) for row in file.rows if _cell(row) not in spellings]
    known = list(spellings)
    advice = "correct it, or see --choice_labels"
    refuse_rows(
        file.path,
        wrong,
        lambda label: f"label {quote(label)} is none of the endings, {known[0]} to {known[-1]}",
        advice,
    )
    return [spellings[_cell(row)] for row in file.rows]


def read_choice_file(
    path: str, split: str, layout: FileLayout, flag: str, id_column: str | None = None, form: TextForm = PLAIN
) -> OwnFile:
    """The rows of a file in the layout of a task; see read_own_file. InputError for one without its
    columns.
    """
    assert layout.named is not None, "the layouts of a choice have names"
    # The file is read twice: the message about a missing column names all columns of the task,
    # which read_own_file does not know.
    table = open_table(path, flag, form)
    first = next(table.filled_rows(warns=False), None)
    there = {str(cell).strip() for cell in first.cells} if first else set()
    named = replace(layout.named, id_column=id_column)
    wanted = [named.text_column, named.text_b_column, *layout.endings, named.label_column]
    lacking = [name for name in wanted if name and name not in there]
    if first and lacking:
        raise InputError(
            f"{path}:1: has no column {', '.join(lacking)}; the header of this file is "
            f"{layout.columns}; other columns are named with --choice_columns, --text_column and "
            "--label_column, without --task_name"
        )
    return read_own_file(table, split, named, "yes", named.label_column is not None, layout.endings)


def describe_choices(examples: Sequence[ChoiceExample]) -> str:
    """For the log: `4 examples of 3 endings; right: 0 2 (50.0%), 1 1 (25.0%), 2 1 (25.0%)`."""
    text = f"{len(examples)} examples of {len(examples[0].endings)} endings"
    counts = Counter(example.label for example in examples if example.label is not None)
    if not counts:
        return f"{text}, no labels"
    parts = [
        f"{place} {counts[place]} ({counts[place] / len(examples):.1%})" for place in range(len(examples[0].endings))
    ]
    return f"{text}; right: {', '.join(parts)}"
