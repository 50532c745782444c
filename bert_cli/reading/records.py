"""JSON values with line numbers, and their records: JSON lines, or what a document has unwrapped.

A document is an array of records, an object with such an array in a member, or an object with a
list or an object per column, as pandas and Hugging Face's data sets write it.
"""

import contextlib
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names
from bert_cli.base.json_files import JsonObject, as_list, as_object, has_form, parse_json
from bert_cli.base.lines import split_lines

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"\s*")
# Separators between tokens in valid JSON.
_SEPARATORS = re.compile(r"[\s,:]*")
# A bracket is not sufficient: it may be the first word in a column file.
_JSON_STARTS = (
    re.compile(r"""\s*(\[\s*)?\{\s*("[^"\n]*"|'[^'\n]*')\s*:"""),  # an object's first member
    re.compile(r"""\s*(\[\s*){1,2}"([^"\\\n]|\\.)*"\s*,\s*\{"""),  # the text in a spaCy pair
    re.compile(r"\s*\[\s*\]\s*$"),
)
_OBJECT_START = re.compile(r"""\s*(\[\s*)?\{\s*"([^"\\\n]|\\.)*"\s*:""")
# Members with rows in Hugging Face's data sets.
_ROWS = ("data", "rows", "train", "validation", "test")


class JsonRecord(NamedTuple):
    """A value, and the 1-based line that contains its first character."""

    line: int
    value: Any


class JsonDocument(NamedTuple):
    """A file's JSON.

    Attributes:
        text: the file's contents.
        values: one value for a document, several for JSON lines or values in a row.
    """

    text: str
    values: list[JsonRecord]

    @property
    def root(self) -> Any:
        """Return the only value, or None."""
        return self.values[0].value if len(self.values) == 1 else None

    def items(self, member: str | None = None) -> list[JsonRecord]:
        """Return the items of the root, which is an array, or of its member with this name."""
        if member is not None:
            return list(_iterate_member(self.text, member))
        return list(_iterate_array(self.text, self.text.index("["), self.values[0].line))

    def members(self, are_records: Callable[[list[Any]], bool]) -> list[str]:
        """Return the names of the root's members that are arrays for which `are_records` is true."""
        return [name for name, value in as_object(self.root).items() if are_records(as_list(value))]


def read_document(path: str, text: str) -> JsonDocument:
    """Parse all values in a JSON file; every reader of JSON uses this function.

    Raises:
        InputError: the file is invalid (with line and column), or see `make_document`.
    """
    return make_document(path, text, _read_values(path, text))


def make_document(path: str, text: str, values: list[JsonRecord]) -> JsonDocument:
    """Return a document of parsed values; raise InputError if Hugging Face's server has cut a cell."""
    document = JsonDocument(text, values)
    _check_answer(path, document.root)
    return document


def number_records(records: Sequence[Any]) -> list[JsonRecord]:
    """Return the records with their numbers instead of lines."""
    return [JsonRecord(number, record) for number, record in enumerate(records, start=1)]


class UnwrappedRecords(NamedTuple):
    """Records from an object, and the names of its other members."""

    values: list[Any]
    unread: list[str]


def unwrap_rows(value: Any) -> UnwrappedRecords:
    """Return the records in an object of a Hugging Face data set, [] for another value.

    If a column's list is shorter than others, the last records lack this member.
    """
    if (unwrapped := unwrap_answer(value)) is not None:
        return unwrapped
    rows_name = next((name for name in _ROWS if has_form(value, {name: list})), "")
    if has_form(value, {rows_name: [dict]}):
        return UnwrappedRecords(value[rows_name], [name for name in value if name != rows_name])
    lists = {name: items for name, items in as_object(value).items() if as_list(items)}
    if lists and has_form([items[0] for items in lists.values()], [list]):
        num_records = max(map(len, lists.values()))
        rows = [
            {name: items[number] for name, items in lists.items() if number < len(items)}
            for number in range(num_records)
        ]
        return UnwrappedRecords(rows, [name for name in value if name not in lists])
    return UnwrappedRecords([], [])


def unwrap_answer(value: Any) -> UnwrappedRecords | None:
    """Return the records that Hugging Face's data set server sends, or None.

    {"features": […], "rows": [{"row_idx": 0, "row": {"text": "a"}, "truncated_cells": []}]}
    """
    rows = as_list(as_object(value).get("rows"))
    if not rows or not has_form(rows, [{"row": dict}]):
        return None
    names = dict.fromkeys(itertools.chain(value, *rows))
    return UnwrappedRecords([row["row"] for row in rows], [name for name in names if name not in ("rows", "row")])


def unwrap_pandas(path: str, value: JsonObject) -> UnwrappedRecords | None:
    """Return the records in an object that pandas' to_json writes, or None.

    These layouts are supported:
      {"text": {"0": "a"}, "label": {"0": "x"}}, the default, and the same by row
      {"columns": ["text"], "index": [0], "data": [["a"]]}

    Raises:
        InputError: a row of the second layout has another number of cells.
    """
    if has_form(value, {"columns": list, "data": list}):
        columns, data = as_list(value["columns"]), as_list(value["data"])
        if not has_form(data, [list]) or any(len(row) != len(columns) for row in data):
            raise InputError(f'{path}: "data" needs a list of {len(columns)} cells per row, as "columns" has names')
        rows = [dict(zip(map(str, columns), row, strict=True)) for row in data]
        return UnwrappedRecords(rows, [name for name in value if name not in ("columns", "data")])
    objects = {name: as_object(column) for name, column in value.items() if as_object(column)}
    return UnwrappedRecords(_unwrap_objects(objects), []) if value and len(objects) == len(value) else None


def unwrap_lists(value: JsonObject) -> list[Any] | None:
    """Return the records in an object with a list per column: {"text": ["a"], "label": ["x"]}."""
    lists = list(map(as_list, value.values()))
    if len(value) < 2 or not has_form([*value.values()], [list]) or len(set(map(len, lists))) > 1:
        return None
    return [dict(zip(value, row, strict=True)) for row in zip(*lists, strict=True)]


def _unwrap_objects(document: Mapping[str, JsonObject]) -> list[Any]:
    """Convert an object with an object per column, or per row, to records."""
    inner_keys = dict.fromkeys(itertools.chain.from_iterable(document.values()))
    # Row keys are usually numbers, and column names seldom are.
    has_rows = all(map(str.isdecimal, document)) and not all(map(str.isdecimal, inner_keys))
    if has_rows:
        return list(document.values())
    return [{name: column.get(key) for name, column in document.items()} for key in inner_keys]


def holds_records(head: str) -> bool:
    """Return whether a text is JSON with records, by its beginning.

    It begins with an object's first member, and most of its lines begin as JSON with objects does.
    A plain text may begin with such a line, too.

    Args:
        head: the beginning of the text.
    """
    if not _OBJECT_START.match(head.removeprefix("\ufeff")):
        return False
    lines = [line for line in map(str.lstrip, head.split("\n")) if line]
    return 2 * sum(line[0] in '{}[]"' for line in lines) > len(lines)


def is_json_name(path: str) -> bool:
    """Return whether a file has a JSON suffix."""
    return path.lower().endswith((".json", ".jsonl"))


def looks_like_json(path: str, text: str) -> bool:
    """Return whether a file begins like JSON with records, even if it is not valid.

    Args:
        path: path of the file.
        text: its contents.
    """
    has_bracket = text.lstrip()[:1] in ("[", "{")
    return (has_bracket and is_json_name(path)) or any(start.match(text) for start in _JSON_STARTS)


def _check_answer(path: str, value: Any) -> None:
    """Raise InputError if Hugging Face's server has cut a cell, see `unwrap_answer`."""
    for number, row in enumerate(as_list(as_object(value).get("rows")), start=1):
        if cut := as_list(as_object(row).get("truncated_cells")):
            raise InputError(
                f"{path}: row {number}: Hugging Face's server has cut the value of {list_names([*map(repr, cut)])}, as its "
                "truncated_cells says; download the data set's own file, which has all of it"
            )


def _read_values(path: str, text: str) -> list[JsonRecord]:
    """Parse all values in a JSON file; raise InputError with line and column if it is invalid."""
    # Most files hold one value, and large ones are parsed only once.
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(text)
        return [JsonRecord(text.count("\n", 0, _skip_space(text, 0)) + 1, value)]
    lines = split_lines(text, path)
    if _are_json_lines([line.strip() for line in lines if line.strip()]):
        return [
            JsonRecord(number, parse_json(line, path, number)) for number, line in enumerate(lines, 1) if line.strip()
        ]
    return list(_iterate_values(path, text))


def _iterate_array(text: str, position: int, line: int = 1) -> Iterator[JsonRecord]:
    """Yield an array's items with their lines.

    Args:
        text: valid JSON.
        position: offset of the array's opening bracket.
        line: 1-based line that contains the bracket.
    """
    counted_end = position
    position = _skip_separators(text, position + 1)
    while text[position] != "]":
        line += text.count("\n", counted_end, position)
        counted_end = position
        value, end = _DECODER.raw_decode(text, position)
        yield JsonRecord(line, value)
        position = _skip_separators(text, end)


def _iterate_member(text: str, name: str) -> Iterator[JsonRecord]:
    """Yield the items of an object's array with their lines.

    Args:
        text: a valid JSON object.
        name: name of the array in the object.
    """
    position = _skip_separators(text, text.index("{") + 1)
    start = position
    while text[position] != "}":
        key, end = _DECODER.raw_decode(text, position)
        value_start = _skip_separators(text, end)
        _, end = _DECODER.raw_decode(text, value_start)
        # If a name is repeated, use the last member, like json.loads.
        start = value_start if key == name else start
        position = _skip_separators(text, end)
    return _iterate_array(text, start, text.count("\n", 0, start) + 1)


def _skip_space(text: str, position: int) -> int:
    return _SPACE.match(text, position).end()  # type: ignore[union-attr]


def _skip_separators(text: str, position: int) -> int:
    return _SEPARATORS.match(text, position).end()  # type: ignore[union-attr]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _are_json_lines(rows: Sequence[str]) -> bool:
    """Return whether each row is meant to be a record: one of the first two rows is valid JSON."""
    # Also test the second row, so that an error in the first row is reported with its line.
    is_closed = bool(rows) and rows[0][0] + rows[0][-1] in ("{}", "[]")
    return is_closed and any(row[0] in "[{" and _is_json(row) for row in rows[:2])


def _iterate_values(path: str, text: str) -> Iterator[JsonRecord]:
    line, line_start = 1, 0
    position = _skip_space(text, 0)
    while position < len(text):
        line += text.count("\n", line_start, position)
        line_start = text.rfind("\n", 0, position) + 1
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            # parse_json raises InputError. Pad with spaces, so that the column stays correct.
            parse_json(" " * (position - line_start) + text[position:], path, line)
            raise
        yield JsonRecord(line, value)
        position = _skip_space(text, end)
