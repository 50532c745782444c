"""JSON from files and lines that somebody else wrote. Other text, and JSON of another type, is an
InputError.
"""

import json
import re
from typing import Any

from bert_cli.base.errors import InputError, first_line, refuse_if
from bert_cli.base.lines import decode, read_text

_CORRECT = "correct the file"  # a file that people write by hand, so the column of a mistake helps
_KINDS = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "true or false",
    float: "a number",
    int: "a number",
}


def parse_json(text: str | bytes, path: str, line: int = 1, advice: str = _CORRECT) -> Any:
    """The value of a JSON text that begins on the given line of a file.

    Raises InputError, which ends in `advice` if there is any, with the line of a mistake; also for
    nesting that is too deep for Python's stack and for a number of more digits than int() takes
    (4,300), which are no mistakes in JSON.
    """
    ending = f"; {advice}" if advice else ""
    text = decode(text, path, line) if isinstance(text, bytes) else text
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"{path}:{line + error.lineno - 1}"
        column = f" (column {error.colno})" if advice == _CORRECT else ""
        raise InputError(f"{place}: is not JSON: {error.msg}{column}{ending}") from None
    # json.JSONDecodeError is a ValueError, so it is caught first.
    except (RecursionError, ValueError) as error:
        raise InputError(f"{path}:{line}: cannot be read as JSON: {first_line(error)}{ending}") from None


def to_json(value: Any, indent: int | None = None) -> str:
    """A value that came as JSON as JSON again, which UTF-8 can hold: half of a surrogate pair is
    escaped.
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):x}", text)


def read_json(path: str, advice: str = _CORRECT) -> Any:
    """The value of a UTF-8 file of JSON; InputError as in `read_text` and `parse_json`."""
    return parse_json(read_text(path), path, advice=advice)


def read_json_object(path: str, advice: str = "", needed: str = "") -> dict:
    """The JSON object that a file holds; InputError for anything else, which ends in `advice`.

    needed: the message where the file is JSON, but no object.
    """
    values = read_json(path, advice)
    if not isinstance(values, dict):
        ending = f"; {needed or advice}" if needed or advice else ""
        raise InputError(f"{path}: holds no JSON object{ending}")
    return values


def json_type(value: object) -> str:
    """What a value of JSON is, for messages: `an object`, `null`, …"""
    return _KINDS.get(type(value), "null")


def expect(value: object, kind: type, place: str, advice: str) -> Any:
    """The value, if it is of that type (dict, list, str, bool or int); InputError at `place`
    otherwise.
    """
    if type(value) is not kind:  # isinstance would take true for a whole number
        wanted = "a whole number" if kind is int else _KINDS[kind]
        raise InputError(f"{place}: is {json_type(value)}, {wanted} is needed; {advice}")
    return value


def expect_member(value: object, key: str, kind: type, place: str, advice: str) -> Any:
    """`value[key]`, if `value` is an object and has a value of that type there; InputError at
    `place` otherwise.
    """
    members = expect(value, dict, place, advice)
    refuse_if(key not in members, f'{place}: has no "{key}"; {advice}')
    return expect(members[key], kind, f"{place}.{key}", advice)
