"""Questions with answers as arguments: data frames, lists, and JSON values in the form of SQuAD."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from bert_cli.api.inputs.frames import as_table, names_and_rows_of_records
from bert_cli.api.inputs.tables import list_or_text
from bert_cli.api.inputs.texts import list_items
from bert_cli.base.errors import InputError
from bert_cli.examples.squad.source import QuestionSource
from bert_cli.reading.exports.cells import JsonCell
from bert_cli.reading.frames import Frame
from bert_cli.reading.probe import TableFile
from bert_cli.reading.rows import Row

_NAMES = ("question", "context", "answer", "answer_start")


def number_questions(name: str, data: Any) -> QuestionSource:
    """Return questions in memory, numbered from 0.

    A table of any library, or a list of dicts, has a question per row, with the columns that
    bert-squad finds in a file. A list of tuples has (question, context, answer), and perhaps the
    number of characters before the answer. The JSON value of a SQuAD file is read as the file.

    Args:
        name: the argument's name, for errors.
        data: the argument.

    Raises:
        InputError: for another form; the message names name[row].
    """
    if table := as_table(name, data):
        return _source(name, tuple(map(str, table.names)), table.rows())
    if isinstance(data, dict) and isinstance(data.get("data"), list):
        return QuestionSource(name, contents=data)
    items = list_items(name, data, "a list of questions (question, context, answer)", is_of_pairs=True)
    if items and all(isinstance(item, Mapping) for item in items):
        if any("paragraphs" in item for item in items):
            return QuestionSource(name, contents=items)
        return _source(name, *names_and_rows_of_records(items))
    first = next((item for item in items if isinstance(item, tuple | list)), ())
    width = len(first)
    for number, item in enumerate(items):
        if not isinstance(item, tuple | list) or len(item) != width or width not in (3, 4):
            raise InputError(
                f"{name}:{number}: (question, context, answer), perhaps with the number of characters before the answer, "
                f"the same in every row, or a dict is needed, found {item!r:.80}"
            )
    return _source(name, _NAMES[:width], items)


def _source(name: str, names: tuple[str, ...], rows: list[Any]) -> QuestionSource:
    if not rows:
        raise InputError(f"{name}: is empty; questions with their contexts and answers are needed")
    cells = [Row(number, [_cell(name, number, value) for value in row]) for number, row in enumerate(rows)]
    return QuestionSource(name, contents=TableFile(name, Frame(names, cells)))


def _cell(name: str, number: int, value: Any) -> Any:
    """Return a cell as in a file: a text, "" if it is missing, a tuple, or JSON for objects."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping) or (isinstance(value, list | tuple) and any(isinstance(v, Mapping) for v in value)):
        return JsonCell(json.dumps(value, default=_plain))
    return list_or_text(name, number, value, "a text, a number or a list")


def _plain(value: Any) -> Any:
    """Return NumPy's arrays and numbers as JSON values, for json.dumps."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no JSON value")
