"""JSON that people give: what does not fit is an InputError that says where."""

import json

from bert_cli.base.errors import InputError
from bert_cli.base.files import read_text

_KINDS = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "true or false",
    float: "a number",
    int: "a number",
}


def parse_json(text: str, path: str, line: int = 1):
    """The value of a JSON text that begins on the given line of a file; InputError with the line of a mistake."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"{path}:{line + error.lineno - 1}"
        raise InputError(f"{place}: is not JSON: {error.msg} (column {error.colno}); correct the file") from None
    except (RecursionError, ValueError) as error:  # thousands of brackets, or of digits
        raise InputError(f"{path}:{line}: cannot be read as JSON: {str(error).splitlines()[0]}") from None


def read_json(path: str):
    """The value of a UTF-8 file of JSON; InputError as in `files.read_text` and `parse_json`."""
    return parse_json(read_text(path), path)


def kind_of(value: object) -> str:
    """What a value of JSON is, for messages: `an object`, `null`, …"""
    return _KINDS.get(type(value), "null")


def expect(value: object, kind: type, place: str, advice: str):
    """The value, if it is of that type (dict, list, str, bool or int); InputError at `place` otherwise."""
    if type(value) is not kind:  # isinstance would take true for a whole number
        wanted = "a whole number" if kind is int else _KINDS[kind]
        raise InputError(f"{place}: is {kind_of(value)}, {wanted} is needed; {advice}")
    return value


def member(value: object, key: str, kind: type, place: str, advice: str):
    """`value[key]`, if `value` is an object and has a value of that type there; InputError at `place` otherwise."""
    expect(value, dict, place, advice)
    if key not in value:
        raise InputError(f'{place}: has no "{key}"; {advice}')
    return expect(value[key], kind, f"{place}.{key}", advice)
