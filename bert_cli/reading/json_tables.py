"""Reader for JSON tables: JSON lines, an array of records, and pandas' to_json layouts.

The keys of all records become columns, in order of first occurrence. A missing key is an empty
cell. A list of texts or numbers is a cell with several labels.
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names
from bert_cli.base.json_files import JsonObject
from bert_cli.reading.json_values import JsonRecord, iterate_array, iterate_member, read_values
from bert_cli.reading.rows import Row, make_list_cell
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
    """

    names: tuple[str, ...] | None
    items: tuple[JsonRecord, ...] | None = None
    description: str = ""

    def rows(self, path: str, lines: Iterable[str]) -> Iterator[Row | int]:
        """Yield the names as row 0, then records, and the line numbers of blank lines."""
        if self.names is not None:
            yield Row(0, list(self.names))
        for item in _read_json_lines(path, lines) if self.items is None else self.items:
            if isinstance(item, int):
                yield item
            elif self.names is None:
                values = item.value if isinstance(item.value, list) else [item.value]
                yield Row(item.line, [format_json_value(value) for value in values])
            else:
                yield Row(item.line, [format_json_value(item.value.get(name)) for name in self.names])


def find_json(source: Source) -> JsonTable:
    """Detect a JSON file's layout; raise InputError if it is not JSON, or the layout is unknown."""
    head = [line for line in itertools.islice(source.lines(), _HEAD) if line.strip()]
    if not _are_json_lines(head):
        return _read_document(source.name, source.text)
    keys: dict[str, None] = {}
    for item in _read_json_lines(source.name, source.lines()):
        if isinstance(item, JsonRecord):
            keys.update(dict.fromkeys(item.value))
            _check_keys(source.name, item.line, len(keys))
    return JsonTable(tuple(keys) or None)


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


def _read_json_lines(path: str, lines: Iterable[str]) -> Iterator[JsonRecord | int]:
    """Yield each line's object, and the line numbers of blank lines."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            yield number
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
    values = read_values(path, text)
    first = values[0].value if values else None
    if len(values) == 1 and isinstance(first, list):
        items = iterate_array(text, text.index("["), values[0].line)
        return _make_table(path, _number_single_line(items), "a JSON array of {} records")
    if len(values) == 1 and isinstance(first, dict):
        return _read_object(path, first, text)
    return _make_table(path, values, "{} JSON objects")


def _number_single_line(items: Iterable[JsonRecord]) -> list[JsonRecord]:
    """Return the items, with item numbers as line numbers if all are on one line."""
    items = list(items)
    if len(items) > 1 and items[0].line == items[-1].line:
        return [JsonRecord(number, item.value) for number, item in enumerate(items, start=1)]
    return items


def _read_object(path: str, document: JsonObject, text: str) -> JsonTable:
    """Convert an object to a table.

    These layouts are supported:
      {"text": {"0": "a"}, "label": {"0": "x"}}, pandas' default {"text": ["a"], "label": ["x"]}
      {"columns": ["text"], "index": [0], "data": [["a"]]} {"data": [{"text": "a"}]}, with any name
      for "data"
    """
    columns, data = document.get("columns"), document.get("data")
    if isinstance(columns, list) and isinstance(data, list):
        if any(not isinstance(row, list) or len(row) != len(columns) for row in data):
            raise InputError(f'{path}: "data" needs a list of {len(columns)} cells per row, as "columns" has names')
        return _make_table(
            path, _number_records(dict(zip(map(str, columns), row, strict=True)) for row in data), _PANDAS
        )
    values = list(document.values())
    objects = {name: value for name, value in document.items() if isinstance(value, dict) and value}
    if values and len(objects) == len(values):
        return _make_table(path, _number_records(_convert_nested(objects)), _PANDAS)
    lists = [value for value in values if isinstance(value, list)]
    if len(values) > 1 and len(lists) == len(values) and len(set(map(len, lists))) == 1:
        rows = zip(*lists, strict=True)
        return _make_table(
            path, _number_records(dict(zip(document, row, strict=True)) for row in rows), "columns of {} values"
        )
    arrays = [
        name for name, value in document.items() if isinstance(value, list) and value and isinstance(value[0], dict)
    ]
    if len(arrays) == 1:
        return _make_table(
            path, _number_single_line(iterate_member(text, arrays[0])), f'{{}} records in the member "{arrays[0]}"'
        )
    if not any(isinstance(value, dict | list) for value in values):
        return _make_table(path, _number_records([document]), "{} JSON object")
    raise InputError(
        f"{path}: is one JSON object with the members {list_names([repr(name) for name in document])}, which is not a "
        f"known layout of a table; write one object such as {_LINES_EXAMPLE} per line, as pandas' "
        'to_json(orient="records", lines=True) does'
    )


_PANDAS = "pandas' JSON with {} rows"


def _convert_nested(document: dict[str, JsonObject]) -> list[JsonObject]:
    """Convert an object with an object per column, or per row, to records."""
    inner_keys = dict.fromkeys(itertools.chain.from_iterable(document.values()))
    # Row keys are usually numbers, and column names seldom are.
    has_rows = all(map(str.isdecimal, document)) and not all(map(str.isdecimal, inner_keys))
    if has_rows:
        return list(document.values())
    return [{name: column.get(key) for name, column in document.items()} for key in inner_keys]


def _number_records(records: Iterable[Any]) -> list[JsonRecord]:
    return [JsonRecord(number, record) for number, record in enumerate(records, start=1)]


def _make_table(path: str, items: list[JsonRecord], description: str) -> JsonTable:
    """Return a table with objects, arrays or texts as rows."""
    full_description = description.format(len(items))
    if all(isinstance(item.value, dict) for item in items):
        keys = tuple(dict.fromkeys(itertools.chain.from_iterable(item.value for item in items)))
        if not items:
            return JsonTable(None, ())
        _check_keys(path, items[0].line, len(keys))
        return JsonTable(keys, tuple(items), full_description)
    if all(isinstance(item.value, list) for item in items) or all(isinstance(item.value, str) for item in items):
        return JsonTable(None, tuple(items), full_description)
    types = {type(item.value) for item in items}
    invalid = next((item for item in items if not isinstance(item.value, dict)), items[0])
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


def format_json_value(value: object) -> Any:
    """Return a JSON value as a cell: a text, "" for null, or a tuple of texts for a list."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    # A list has several labels. A nested list has no such meaning, so it becomes a text.
    if isinstance(value, list) and not any(isinstance(item, list | dict) or item is None for item in value):
        return make_list_cell(value, (item if isinstance(item, str) else json.dumps(item) for item in value))
    return json.dumps(value, ensure_ascii=False)
