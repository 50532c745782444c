"""Cells of tables that are JSON values, and members of these values by path.

A path uses periods between names and positions: `data.text`, `annotations.0.label`. If a name
follows a list, it selects this member in every item.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bert_cli.base.json_files import as_list, as_object

_MAX_PATHS = 3  # paths in a message
_MAX_DEPTH = 4


class JsonCell(str):
    """A cell with a JSON object, or a list with objects, as JSON text."""

    __slots__ = ()

    @property
    def json_type(self) -> str:
        """Return the value's type for messages."""
        return "an object" if self.startswith("{") else "a list of objects or lists"

    def text_paths(self, name: str) -> list[str]:
        """Return paths that select texts, longest text first.

        Args:
            name: the column's name.
        """
        lengths: dict[str, int] = {}
        for path, text in _iterate_texts(json.loads(self), name):
            lengths[path] = lengths.get(path, 0) + len(text)
        return sorted(lengths, key=lambda path: -lengths[path])[:_MAX_PATHS]


class Unannotated(str):
    """Empty label cell for a text that nobody has annotated."""

    __slots__ = ()


UNANNOTATED = Unannotated()


class DecimalList(tuple[str, ...]):
    """A cell with a list of numbers that are not all whole, such as probabilities."""


def make_list_cell(values: Sequence[Any], texts: Iterable[str]) -> tuple[str, ...]:
    """Return a cell for a list.

    Args:
        values: the list's items.
        texts: the items as text.
    """
    are_numbers = len(values) > 1 and all(type(value) in (int, float) for value in values)
    has_decimal = are_numbers and not all(float(value).is_integer() for value in values)
    return DecimalList(texts) if has_decimal else tuple(texts)


def format_json_value(value: object) -> Any:
    """Return a JSON value as a cell: a text, "" for null, or a tuple of texts for a list."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    # A list has several labels. A nested list has no such meaning, so it becomes a text.
    if isinstance(value, list) and not any(isinstance(item, list | dict) or item is None for item in value):
        return make_list_cell(value, (item if isinstance(item, str) else json.dumps(item) for item in value))
    text = json.dumps(value, ensure_ascii=False)
    return JsonCell(text) if isinstance(value, list | dict) else text


def _iterate_texts(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield path and text for each text in a value. List items have the list's path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict) and depth < _MAX_DEPTH:
        for name, member in value.items():
            yield from _iterate_texts(member, f"{path}.{name}", depth + 1)
    elif isinstance(value, list) and depth < _MAX_DEPTH:
        for item in value:
            yield from _iterate_texts(item, path, depth + 1)


def split_path(path: str, names: Sequence[str]) -> tuple[int, list[str]] | None:
    """Return the column and the members that a path selects, or None if no column is its start.

    Args:
        path: path such as data.text.
        names: column names, which may contain periods.
    """
    parts = path.split(".")
    for length in range(len(parts) - 1, 0, -1):
        root = ".".join(parts[:length])
        if names.count(root) == 1:
            return names.index(root), parts[length:]
    return None


class MemberColumns:
    """Columns with members of other columns' values, by path."""

    def __init__(self, paths: Sequence[str], names: Sequence[str]) -> None:
        """Find the columns.

        Args:
            paths: paths that `split_path` can split.
            names: column names.
        """
        self._members = [member for path in paths if (member := split_path(path, names))]
        self._used: dict[int, list[list[str]]] = {}
        for column, path in self._members:
            self._used.setdefault(column, []).append(path)
        self._names = names

    def read(self, cells: Sequence[Any]) -> tuple[list[Any], dict[str, None]]:
        """Return the members' cells of a row, and the paths of members that no column uses.

        A cell is "" if the value has no such member.

        Args:
            cells: the row's cells; [] for a blank line.
        """
        values = {column: _parse_cell(cells[column]) for column in self._used if cells}
        unused: dict[str, None] = {}
        for column, value in values.items():
            unused |= dict.fromkeys(_iterate_unused(value, self._used[column], self._names[column]))
        members = [format_json_value(_find_member(values[column], path)) for column, path in self._members if cells]
        return members, unused


def _parse_cell(cell: Any) -> Any:
    return json.loads(cell) if isinstance(cell, JsonCell) else list(cell) if isinstance(cell, tuple) else cell


def _find_member(value: Any, members: Sequence[str]) -> Any:
    for number, name in enumerate(members):
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal():
            value = value[int(name)] if int(name) < len(value) else None
        elif isinstance(value, list):
            item_members = [_find_member(item, members[number:]) for item in value]
            return [member for member in item_members if member is not None]
        else:
            return None
    return value


def find_unused_members(values: Iterable[Any], used: Sequence[Sequence[str]]) -> list[str]:
    """Return the paths of members that are not used, in order of occurrence.

    Args:
        values: JSON values, such as the records of a file.
        used: paths of members that are used with everything in them.
    """
    return list(dict.fromkeys(path for value in values for path in _iterate_unused(value, used, "")))


def _iterate_unused(value: Any, used: Sequence[Sequence[str]], path: str) -> Iterator[str]:
    if isinstance(value, list) and not any(members[0].isdecimal() for members in used):
        for item in value:
            yield from _iterate_unused(item, used, path)
        return
    children = as_object(value) or {str(number): item for number, item in enumerate(as_list(value))}
    for name, member in children.items():
        inner = [members[1:] for members in used if members[0] == name]
        member_path = f"{path}.{name}" if path else name
        if not inner:
            yield member_path
        elif all(inner):
            yield from _iterate_unused(member, inner, member_path)
