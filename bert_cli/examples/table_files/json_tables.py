"""JSON tables into rows: JSON lines, an array of records, and the layouts of pandas' to_json.

Columns come from all records, in the order in which their keys first occur. A key that a record
lacks is an empty cell. A list of texts or numbers is a cell of several labels.
"""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.messages import list_names
from bert_cli.examples.table_files.json_values import JsonRecord, array_items, member_items, read_values
from bert_cli.examples.table_files.rows import Row

Lines = AbstractContextManager[Iterator[str]]
_MOST_COLUMNS = 1000
_HEAD = 20  # lines that distinguish JSON lines from a document
_LINES_EXAMPLE = '{"text": "…", "label": "…"}'


@dataclass(frozen=True)
class JsonTable:
    """A table of JSON records.

    Attributes:
        names: the keys of all records; None for an array of arrays or texts.
        items: the records of a document; None for JSON lines, which are read as they come.
        description: layout of the document, for the log.
    """

    names: tuple[str, ...] | None
    items: tuple[JsonRecord, ...] | None = None
    description: str = ""

    def rows(self, path: str, lines: Iterable[str]) -> Iterator[Row | int]:
        """Yield the names as row 0, then each record, and for each blank line its number."""
        if self.names is not None:
            yield Row(0, list(self.names))
        for item in _json_lines(path, lines) if self.items is None else self.items:
            if isinstance(item, int):
                yield item
            elif self.names is None:
                values = item.value if isinstance(item.value, list) else [item.value]
                yield Row(item.line, [json_cell(value) for value in values])
            else:
                yield Row(item.line, [json_cell(item.value.get(name)) for name in self.names])


def find_json(path: str, open_text: Callable[[], Lines]) -> JsonTable:
    """Return the layout of a JSON file.

    Args:
        path: the file, for messages.
        open_text: function that opens its lines.

    Raises:
        InputError: with line and column for a file that is not JSON, and with its members for a
            layout that is not known.
    """
    with open_text() as lines:
        head = [line for line in itertools.islice(lines, _HEAD) if line.strip()]
    if _are_json_lines(head):
        with open_text() as lines:
            keys: dict[str, None] = {}
            for item in _json_lines(path, lines):
                if isinstance(item, JsonRecord):
                    keys.update(dict.fromkeys(item.value))
                    _check_keys(path, item.line, len(keys))
        return JsonTable(tuple(keys) or None)
    with open_text() as lines:
        text = "".join(lines)
    return _document(path, text)


def _are_json_lines(head: Sequence[str]) -> bool:
    """Return whether the first lines hold an object each, rather than a document over all lines."""
    if not head:
        return True
    try:
        is_object = isinstance(json.loads(head[0]), dict)
    except (ValueError, RecursionError):
        # A broken first line: the other lines decide, so that the error names the right place.
        whole = [line.strip().startswith("{") and line.strip().endswith("}") for line in head]
        return 2 * sum(whole) > len(head) and head[0].lstrip().startswith("{")
    return (is_object and len(head) > 1) or (not is_object and not head[0].lstrip().startswith("["))


def _json_lines(path: str, lines: Iterable[str]) -> Iterator[JsonRecord | int]:
    """Yield the object of each line, and for each blank line its number."""
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


def _document(path: str, text: str) -> JsonTable:
    """Return the table of a JSON document: an array, an object, or objects that follow each other."""
    values = read_values(path, text)
    first = values[0].value if values else None
    if len(values) == 1 and isinstance(first, list):
        items = array_items(text, text.index("["), values[0].line)
        return _table_of(path, _numbered(items), "a JSON array of {} records")
    if len(values) == 1 and isinstance(first, dict):
        return _object_table(path, first, text)
    return _table_of(path, values, "{} JSON objects")


def _numbered(items: Iterable[JsonRecord]) -> list[JsonRecord]:
    """Return the items with their numbers for lines if they are all on one line."""
    items = list(items)
    if len(items) > 1 and items[0].line == items[-1].line:
        return [JsonRecord(number, item.value) for number, item in enumerate(items, start=1)]
    return items


def _object_table(path: str, document: dict[str, Any], text: str) -> JsonTable:
    """Return the table that an object holds in one of pandas' layouts, or in its only array.

    For example {"text": {"0": "a"}, "label": {"0": "x"}}, pandas' default; {"text": ["a"], "label":
    ["x"]}; {"columns": ["text"], "index": [0], "data": [["a"]]}; {"data": [{"text": "a"}]}.
    """
    columns, data = document.get("columns"), document.get("data")
    if isinstance(columns, list) and isinstance(data, list):
        if any(not isinstance(row, list) or len(row) != len(columns) for row in data):
            raise InputError(f'{path}: "data" needs a list of {len(columns)} cells per row, as "columns" has names')
        return _table_of(path, _items(dict(zip(map(str, columns), row, strict=True)) for row in data), _PANDAS)
    parts = list(document.values())
    if parts and all(isinstance(part, dict) and part for part in parts):
        return _table_of(path, _items(_records_of_objects(document)), _PANDAS)
    if parts and all(isinstance(part, list) for part in parts) and len(set(map(len, parts))) == 1 and len(parts) > 1:
        rows = zip(*parts, strict=True)
        return _table_of(path, _items(dict(zip(document, row, strict=True)) for row in rows), "columns of {} values")
    arrays = [name for name, part in document.items() if isinstance(part, list) and part and isinstance(part[0], dict)]
    if len(arrays) == 1:
        return _table_of(path, _numbered(member_items(text, arrays[0])), f'{{}} records in the member "{arrays[0]}"')
    if not any(isinstance(part, dict | list) for part in parts):
        return _table_of(path, _items([document]), "{} JSON object")
    raise InputError(
        f"{path}: is one JSON object with the members {list_names([repr(name) for name in document])}, which is not a "
        f"known layout of a table; write one object such as {_LINES_EXAMPLE} per line, as pandas' "
        'to_json(orient="records", lines=True) does'
    )


_PANDAS = "pandas' JSON with {} rows"


def _records_of_objects(document: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records of an object of columns, or of an object of rows with pandas' index."""
    inner = dict.fromkeys(itertools.chain.from_iterable(document.values()))
    # The keys of an index are numbers mostly; columns seldom are.
    has_rows = all(map(str.isdecimal, document)) and not all(map(str.isdecimal, inner))
    if has_rows:
        return list(document.values())
    return [{name: column.get(key) for name, column in document.items()} for key in inner]


def _items(records: Iterable[Any]) -> list[JsonRecord]:
    return [JsonRecord(number, record) for number, record in enumerate(records, start=1)]


def _table_of(path: str, items: list[JsonRecord], description: str) -> JsonTable:
    """Return the table of records, of arrays of cells, or of texts."""
    shown = description.format(len(items))
    if all(isinstance(item.value, dict) for item in items):
        keys = tuple(dict.fromkeys(itertools.chain.from_iterable(item.value for item in items)))
        if not items:
            return JsonTable(None, ())
        _check_keys(path, items[0].line, len(keys))
        return JsonTable(keys, tuple(items), shown)
    if all(isinstance(item.value, list) for item in items) or all(isinstance(item.value, str) for item in items):
        return JsonTable(None, tuple(items), shown)
    types = {type(item.value) for item in items}
    odd = next((item for item in items if not isinstance(item.value, dict)), items[0])
    problem = "is not a JSON object" if dict in types else "is neither an object, an array nor a text"
    raise InputError(f"{path}:{odd.line}: {problem}; records such as {_LINES_EXAMPLE} are needed")


def _check_keys(path: str, line: int, count: int) -> None:
    """Raise InputError if the keys of records, the first on `line`, cannot be columns by their number."""
    if not count:
        raise InputError(f"{path}:{line}: is an empty object; {_LINES_EXAMPLE} is one with columns")
    if count > _MOST_COLUMNS:
        raise InputError(
            f"{path}: its records have more than {_MOST_COLUMNS} different keys, so these are no columns; "
            f"records such as {_LINES_EXAMPLE} are needed"
        )


def json_cell(value: object) -> Any:
    """Return the cell of a JSON value: a text, or a tuple of names for a list of them.

    null is an empty cell, and a number is written as JSON writes it.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    # A list of names is a cell with several labels; a list in a list has no such meaning.
    if isinstance(value, list) and not any(isinstance(part, list | dict) or part is None for part in value):
        return tuple(part if isinstance(part, str) else json.dumps(part) for part in value)
    return json.dumps(value, ensure_ascii=False)
