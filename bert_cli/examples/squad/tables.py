"""Reader of questions in a table, such as CSV or a workbook, as records of SQuAD.

question,context,answer,answer_start
Who found the keys?,On Monday Anna found 2 keys.,Anna,10

The columns id, answer_start and is_impossible may be absent. If an answer is empty, the
question is impossible.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import list_names, quote
from bert_cli.base.json_files import JsonObject
from bert_cli.reading.column_names import normalize_name
from bert_cli.reading.exports.cells import JsonCell
from bert_cli.reading.probe import TableFile

# Member -> usual column names.
_NAMES = {
    "question": ("question", "query"),
    "context": ("context", "passage", "paragraph"),
    "answers": ("answer", "answers", "answer_text"),
    "answer_start": ("answer_start", "start", "start_char"),
    "id": ("id", "qid", "qas_id", "question_id"),
    "is_impossible": ("is_impossible", "impossible"),
}
_NEEDED = ("question", "context")
_ADVICE = (
    "a table of questions has a header with the columns question, context, answer, and perhaps answer_start and id"
)


class QuestionTable(NamedTuple):
    """A table's rows as records with their locations, and the names of columns that are not used."""

    rows: list[tuple[str, JsonObject]]
    not_used: tuple[str, ...]


def read_question_table(table: TableFile) -> QuestionTable:
    """Read a table's rows.

    Raises:
        InputError: a column is missing or has two usual names, or answer_start is no number.
    """
    path = table.path
    unread: dict[str, None] = {}
    rows = table.filled_rows(unread=unread)
    header = next(rows, None)
    if header is None:
        raise InputError(f"{path}: is empty; {_ADVICE}")
    names = [str(cell).strip() for cell in header.cells]
    # Names in memory are on no line.
    columns = _find_columns(path if table.source is None else f"{path}:1", names)
    records = []
    for row in rows:
        table.check_width(row, len(names))
        cells = {member: row.cells[column] for member, column in columns.items()}
        records.append((f"{path}:{row.line}", _make_record(f"{path}:{row.line}", cells)))
    not_used = tuple(name for number, name in enumerate(names) if number not in columns.values())
    return QuestionTable(records, (*not_used, *unread))


def _find_columns(place: str, names: list[str]) -> dict[str, int]:
    usual = [normalize_name(name) for name in names]
    columns: dict[str, int] = {}
    for member, candidates in _NAMES.items():
        numbers = [number for number, name in enumerate(usual) if name in candidates]
        if len(numbers) > 1:
            shown = list_names([names[number] for number in numbers])
            raise InputError(
                f"{place}: several columns may be the {candidates[0]}: {shown}; rename all but one; {_ADVICE}"
            )
        columns |= dict.fromkeys([member], numbers[0]) if numbers else {}
    missing = [member for member in _NEEDED if member not in columns]
    refuse_if(missing, f"{place}: has the columns {list_names(names)}, and not {list_names(missing)}; {_ADVICE}")
    return columns


def _make_record(location: str, cells: dict[str, Any]) -> JsonObject:
    """Return a row as a record of Hugging Face's SQuAD."""
    record: JsonObject = {member: cells[member] for member in ("question", "context")}
    for member in ("id", "is_impossible"):
        if str(cells.get(member, "")).strip():
            record[member] = str(cells[member]).strip()
    if "answers" in cells:
        record["answers"] = list(_read_answers(location, cells["answers"], cells.get("answer_start", "")))
    return record


def _read_answers(location: str, cell: Any, start: Any) -> Iterator[JsonObject]:
    """Yield the answers in a cell: a text, a list of texts, or objects with texts and offsets."""
    texts: Sequence[str]
    starts: Sequence[object]
    if isinstance(cell, JsonCell):
        texts, starts = _answer_columns(location, cell)
    else:
        texts = cell if isinstance(cell, tuple) else (cell,) if cell.strip() else ()
        starts = start if isinstance(start, tuple) else (start,) if str(start).strip() else ()
    if starts and len(starts) != len(texts):
        raise InputError(
            f"{location}: has {len(texts)} answers and {len(starts)} numbers as answer_start; correct the row"
        )
    for number, text in enumerate(texts):
        answer: JsonObject = {"text": text}
        if starts:
            answer["answer_start"] = _read_start(location, str(starts[number]))
        yield answer


def _answer_columns(location: str, cell: JsonCell) -> tuple[list[str], list[object]]:
    """Return the texts and offsets in an object with a list of both, or in a list of objects."""
    value = json.loads(cell)
    texts: object
    starts: object
    if isinstance(value, list) and all(isinstance(answer, dict) for answer in value):
        texts = [answer.get("text") for answer in value]
        starts = [answer["answer_start"] for answer in value if answer.get("answer_start") is not None]
    else:
        columns = value if isinstance(value, dict) else {}
        texts, starts = columns.get("text"), columns.get("answer_start", [])
    if isinstance(texts, list) and isinstance(starts, list) and all(isinstance(text, str) for text in texts):
        return texts, starts
    raise InputError(f"{location}: the answer is {quote(cell)}, a text is needed")


def _read_start(location: str, text: str) -> int:
    whole = text.strip().removesuffix(".0")
    digits = whole.removeprefix("-")
    refuse_if(
        not (digits.isdecimal() and len(digits) < 10),
        f"{location}: answer_start is {quote(text)}; the number of characters before the answer is needed",
    )
    return int(whole)
