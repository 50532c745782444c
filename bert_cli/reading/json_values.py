"""Parser for JSON values with line numbers: a document, JSON lines, or several values."""

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bert_cli.base.json_files import parse_json
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


class JsonRecord(NamedTuple):
    """A value, and the 1-based line that contains its first character."""

    line: int
    value: Any


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


def read_values(path: str, text: str) -> list[JsonRecord]:
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


def iterate_array(text: str, position: int, line: int = 1) -> Iterator[JsonRecord]:
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


def iterate_member(text: str, name: str) -> Iterator[JsonRecord]:
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
    return iterate_array(text, start, text.count("\n", 0, start) + 1)


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
