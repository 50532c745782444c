"""Values of a JSON file with their lines: a document, JSON lines, or values after one another."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bert_cli.base.json_files import parse_json
from bert_cli.base.lines import split_lines

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"\s*")
# Between the tokens of a text that is known to be JSON.
_SEPARATORS = re.compile(r"[\s,:]*")
# A bracket alone is not enough: it may be the first word of a file in columns.
_JSON_STARTS = (
    re.compile(r"""\s*(\[\s*)?\{\s*("[^"\n]*"|'[^'\n]*')\s*:"""),  # first member of an object
    re.compile(r"""\s*(\[\s*){1,2}"([^"\\\n]|\\.)*"\s*,\s*\{"""),  # text of a spaCy pair
    re.compile(r"\s*\[\s*\]\s*$"),
)


class JsonRecord(NamedTuple):
    """A value, and the 1-based line on which it begins."""

    line: int
    value: Any


def is_json_name(path: str) -> bool:
    """Return whether a file is JSON by its name."""
    return path.lower().endswith((".json", ".jsonl"))


def looks_like_json(path: str, text: str) -> bool:
    """Return whether a file begins as JSON with records does, even if there is a mistake in it."""
    has_bracket = text.lstrip()[:1] in ("[", "{")
    return (has_bracket and is_json_name(path)) or any(start.match(text) for start in _JSON_STARTS)


def read_values(path: str, text: str) -> list[JsonRecord]:
    """Return the values of a file of JSON. InputError with line and column of a mistake."""
    if not _is_json(text):
        lines = split_lines(text, path)
        if _are_json_lines([line.strip() for line in lines if line.strip()]):
            return [
                JsonRecord(number, parse_json(line, path, number))
                for number, line in enumerate(lines, 1)
                if line.strip()
            ]
    return list(_consecutive_values(path, text))


def array_items(text: str, position: int, line: int = 1) -> Iterator[JsonRecord]:
    """Return the items of the array that begins at `position`, in `line`, of a valid JSON text."""
    counted = position
    position = _skip(text, position + 1)
    while text[position] != "]":
        line += text.count("\n", counted, position)
        counted = position
        value, end = _DECODER.raw_decode(text, position)
        yield JsonRecord(line, value)
        position = _skip(text, end)


def member_items(text: str, name: str) -> Iterator[JsonRecord]:
    """Return the items of an array that is a member of the object that a valid JSON text is."""
    position = _skip(text, text.index("{") + 1)
    start = position
    while text[position] != "}":
        key, end = _DECODER.raw_decode(text, position)
        value_start = _skip(text, end)
        _, end = _DECODER.raw_decode(text, value_start)
        # Of members with the same name, json.loads takes the last.
        start = value_start if key == name else start
        position = _skip(text, end)
    return array_items(text, start, text.count("\n", 0, start) + 1)


def _skip(text: str, position: int) -> int:
    return _SEPARATORS.match(text, position).end()  # type: ignore[union-attr]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _are_json_lines(rows: Sequence[str]) -> bool:
    """Return whether each row is meant as a record: one of the first two is one by itself.

    The second row counts so that a mistake in the first is reported as in any other row.
    """
    is_closed = bool(rows) and rows[0][0] + rows[0][-1] in ("{}", "[]")
    return is_closed and any(row[0] in "[{" and _is_json(row) for row in rows[:2])


def _consecutive_values(path: str, text: str) -> Iterator[JsonRecord]:
    line, line_start = 1, 0
    position = _SPACE.match(text).end()  # type: ignore[union-attr]
    while position < len(text):
        line += text.count("\n", line_start, position)
        line_start = text.rfind("\n", 0, position) + 1
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            # It fails here too, with the message for a person; blanks keep the column.
            parse_json(" " * (position - line_start) + text[position:], path, line)
            raise
        yield JsonRecord(line, value)
        position = _SPACE.match(text, end).end()  # type: ignore[union-attr]
