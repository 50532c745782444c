"""Reader for JSON tables: JSON lines, an array of records, and pandas' to_json layouts.

The keys of all records become columns, in order of first occurrence. A missing key is an empty
cell. A list of texts or numbers is a cell with several labels.
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names
from bert_cli.base.json_files import has_form
from bert_cli.reading.exports.cells import format_json_value
from bert_cli.reading.exports.table import JsonExport, convert_records, find_export
from bert_cli.reading.records import (
    JsonRecord,
    number_records,
    read_document,
    unwrap_answer,
    unwrap_lists,
    unwrap_pandas,
)
from bert_cli.reading.rows import Row
from bert_cli.reading.source import Source

_MAX_COLUMNS = 1000
_HEAD = 20  # lines used to distinguish JSON lines from a document
_LINES_EXAMPLE = '{"text": "…", "label": "…"}'


@dataclass(frozen=True)
class JsonTable:
    """A table with JSON records.

    Attributes:
        names: keys of all records, or None for an array of arrays or texts.
        items: a document's records, or None for JSON lines, which are read one by one.
        description: a document's layout, for the log.
        unread: paths of members without a column, in an export or next to a document's records.
    """

    names: tuple[str, ...] | None
    items: tuple[JsonRecord, ...] | None = None
    description: str = ""
    unread: tuple[str, ...] = ()
    delimiter: ClassVar[str] = ""

    def rows(self, path: str, lines: Iterable[str]) -> Iterator[Row]:
        """Yield the names as row 0, then records and blank lines."""
        if self.names is not None:
            yield Row(0, list(self.names))
        for item in _read_json_lines(path, lines) if self.items is None else self.items:
            if item.value is None:
                values = []
            elif self.names is None:
                # An empty array is no blank line: its number of cells is wrong.
                values = (item.value if isinstance(item.value, list) else [item.value]) or [""]
            else:
                values = list(map(item.value.get, self.names))
            yield Row(item.line, list(map(format_json_value, values)))


def find_json(source: Source) -> JsonTable:
    """Detect a JSON file's layout; raise InputError if it is not JSON, or the layout is unknown."""
    head = [line for line in itertools.islice(source.lines(), _HEAD) if line.strip()]
    if not _are_json_lines(head):
        return _read_document(source.name, source.text)
    keys: dict[str, None] = {}
    export: JsonExport | None = None
    for item in _read_json_lines(source.name, source.lines()):
        if item.value is not None:
            keys.update(dict.fromkeys(item.value))
            _check_keys(source.name, item.line, len(keys))
            export = export or find_export(item.value)
    if export:
        items = [item for item in _read_json_lines(source.name, source.lines()) if item.value is not None]
        return _convert_export(source.name, items, export)
    return JsonTable(tuple(keys) or None)


def _convert_export(path: str, items: Sequence[JsonRecord], export: JsonExport) -> JsonTable:
    rows = [JsonRecord(*row) for row in convert_records(path, export, items)]
    table = _make_table(path, rows, f"{len(items)} {export.title}")
    return replace(table, unread=tuple(export.find_unread(item.value for item in items)))


def _are_json_lines(head: Sequence[str]) -> bool:
    """Return whether the first lines are one object per line, not a document."""
    if not head:
        return True
    try:
        is_object = isinstance(json.loads(head[0]), dict)
    except (ValueError, RecursionError):
        # If the first line is broken, the other lines decide, so that the error names this line.
        are_objects = [line.strip().startswith("{") and line.strip().endswith("}") for line in head]
        return 2 * sum(are_objects) > len(head) and head[0].lstrip().startswith("{")
    return (is_object and len(head) > 1) or (not is_object and not head[0].lstrip().startswith("["))


def _read_json_lines(path: str, lines: Iterable[str]) -> Iterator[JsonRecord]:
    """Yield each line's object, None for a blank line."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            yield JsonRecord(number, None)
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            column = f" in column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            raise InputError(f"{path}:{number}: is not JSON{column}; one object per line is needed") from None
        if not isinstance(value, dict):
            raise InputError(f"{path}:{number}: is not a JSON object; one such as {_LINES_EXAMPLE} per line is needed")
        yield JsonRecord(number, value)


def _read_document(path: str, text: str) -> JsonTable:
    """Convert a JSON document to a table: an array, an object, or several objects in a row."""
    document = read_document(path, text)
    root = document.root
    items = _number_single_line(document.items()) if isinstance(root, list) else document.values
    if export := next(filter(None, (find_export(item.value) for item in items)), None):
        return _convert_export(path, items, export)
    if isinstance(root, list):
        return _make_table(path, items, "a JSON array of {} records")
    if not isinstance(root, dict):
        return _make_table(path, document.values, "{} JSON objects")
    if (unwrapped := unwrap_pandas(path, root)) is not None:
        table = _make_table(path, number_records(unwrapped.values), "pandas' JSON with {} rows")
        return replace(table, unread=tuple(unwrapped.unread))
    if (answer := unwrap_answer(root)) is not None:
        table = _make_table(path, number_records(answer.values), "an answer of Hugging Face's server with {} rows")
        return replace(table, unread=tuple(answer.unread))
    if (records := unwrap_lists(root)) is not None:
        return _make_table(path, number_records(records), "columns of {} values")
    arrays = document.members(lambda items: bool(items) and isinstance(items[0], dict))
    if len(arrays) == 1:
        items = _number_single_line(document.items(arrays[0]))
        table = _make_table(path, items, f'{{}} records in the member "{arrays[0]}"')
        return replace(table, unread=tuple(name for name in root if name != arrays[0]))
    if not any(isinstance(value, dict | list) for value in root.values()):
        return _make_table(path, number_records([root]), "{} JSON object")
    raise InputError(
        f"{path}: is one JSON object with the members {list_names([repr(name) for name in root])}, which is not a "
        f"known layout of a table; write one object such as {_LINES_EXAMPLE} per line, as pandas' "
        'to_json(orient="records", lines=True) does'
    )


def _number_single_line(items: list[JsonRecord]) -> list[JsonRecord]:
    """Return the items, with item numbers as line numbers if all are on one line."""
    if len(items) > 1 and items[0].line == items[-1].line:
        return number_records([item.value for item in items])
    return items


def _make_table(path: str, items: list[JsonRecord], description: str) -> JsonTable:
    """Return a table with objects, arrays or texts as rows."""
    full_description = description.format(len(items))
    values = [item.value for item in items]
    if has_form(values, [dict]):
        keys = tuple(dict.fromkeys(itertools.chain.from_iterable(values)))
        if not items:
            return JsonTable(None, ())
        _check_keys(path, items[0].line, len(keys))
        return JsonTable(keys, tuple(items), full_description)
    if has_form(values, [list]) or has_form(values, [str]):
        return JsonTable(None, tuple(items), full_description)
    types = set(map(type, values))
    invalid = next((item for item in items if type(item.value) is not dict), items[0])
    problem = "is not a JSON object" if dict in types else "is neither an object, an array nor a text"
    raise InputError(f"{path}:{invalid.line}: {problem}; records such as {_LINES_EXAMPLE} are needed")


def _check_keys(path: str, line: int, count: int) -> None:
    """Raise InputError if there are no keys, or too many keys to be columns.

    Args:
        path: the file, for messages.
        line: the first record's line.
        count: number of keys.
    """
    if not count:
        raise InputError(f"{path}:{line}: is an empty object; {_LINES_EXAMPLE} is one with columns")
    if count > _MAX_COLUMNS:
        raise InputError(
            f"{path}: its records have more than {_MAX_COLUMNS} different keys, so these are no columns; "
            f"records such as {_LINES_EXAMPLE} are needed"
        )
