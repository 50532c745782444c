"""JSON from third-party files; anything unexpected in it is an InputError."""

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, NamedTuple, TypeAlias

from bert_cli.base.errors import InputError, first_line, refuse_if
from bert_cli.base.formats import list_names
from bert_cli.base.lines import decode, read_text
from bert_cli.base.log import warn_once_or_fail

# A value that JSON can hold. Objects of ours are JsonObject: mypy then checks each value.
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = dict[str, Json]
# A form that a value may have, see `has_form`.
Form: TypeAlias = "type | UnionType | Mapping[str, Form] | list[Form] | tuple[Form, ...]"

# For files that people write by hand, the message also has the mistake's column.
_CORRECT = "correct the file"
FETCH = "fetch the file again"  # advice about files that programs write
_TYPE_NAMES = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "true or false",
    float: "a number",
    int: "a number",
}


def parse_json(text: str | bytes, path: str, line: int = 1, advice: str = _CORRECT) -> Any:
    """Return the value of a JSON text, or raise InputError with the line that has the mistake.

    Two kinds of valid JSON also raise InputError: nesting too deep for Python's stack, and numbers
    with more digits than int() accepts (4,300).

    Args:
        text: JSON; bytes must be UTF-8.
        path: file name for messages.
        line: line number at which the text begins.
        advice: end of the error message, "" for none.
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
    """Return a value as JSON that UTF-8 can hold: lone surrogates are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):x}", text)


def read_json(path: str, advice: str = _CORRECT) -> Any:
    """Return the value in a JSON file; raise InputError as `read_text` and `parse_json` do."""
    return parse_json(read_text(path), path, advice=advice)


def read_json_object(path: str, advice: str = "", needed: str = "") -> dict:
    """Return the JSON object in a file, or raise InputError.

    Args:
        path: the file.
        advice: end of every error message.
        needed: used instead of `advice` if the file holds JSON but no object.
    """
    values = read_json(path, advice)
    if not isinstance(values, dict):
        ending = f"; {needed or advice}" if needed or advice else ""
        raise InputError(f"{path}: holds no JSON object{ending}")
    return values


class Requirement(NamedTuple):
    """Values of a key that can be computed, and the meaning of others.

    Attributes:
        values: values that can be computed; the first one is the default.
        meaning: the model with another value, for messages; or "".
    """

    values: tuple[Any, ...]
    meaning: str = ""


@dataclasses.dataclass(frozen=True)
class KeyTable:
    """Keys in a file of another program: obeyed, without effect, or with a value that is needed.

    docs/keys.md prints these tables.

    Attributes:
        obeyed: key -> its effect.
        no_effect: key without an effect -> the reason.
        required: key -> the values that can be computed.
        ending: end of the message about another value.
    """

    obeyed: Mapping[str, str]
    no_effect: Mapping[str, str] = dataclasses.field(default_factory=dict)
    required: Mapping[str, Requirement] = dataclasses.field(default_factory=dict)
    ending: str = ""

    def check(self, path: str, values: Mapping[str, Any]) -> None:
        """Raise InputError if a key has a value that cannot be computed.

        Args:
            path: the file, for the message.
            values: its contents.
        """
        for key, (usual, meaning) in self.required.items():
            value = values.get(key, usual[0])
            if value not in usual:
                text = f"{value!r:.60}" if isinstance(value, str | int | float) else "given"
                raise InputError(f"{path}: {key} is {text}{f': {meaning}' if meaning else ''}; {self.ending}")

    def describe_unknown(self, path: str, values: Mapping[str, Any]) -> str:
        """Return a message about keys that have no meaning here, or ""; see `check`."""
        unknown_keys = sorted(set(values).difference(self.obeyed, self.no_effect, self.required))
        return f"{path}: not known here, not used: {list_names(unknown_keys)}" if unknown_keys else ""

    def name_unknown(self, path: str, values: Mapping[str, Any], strict: bool = False) -> None:
        """Log once which keys have no meaning here, or raise InputError with `strict`.

        Args:
            path, values: see `check`.
            strict: whether an unknown key is an error.
        """
        if message := self.describe_unknown(path, values):
            warn_once_or_fail(message, strict)


# Keys around `config` in config.json and tokenizer.json of a KerasHub preset.
PRESET_KEYS = KeyTable(
    {"module": "marks a preset", "class_name": "the class: BertBackbone or BertTokenizer", "config": "the keys below"},
    {
        "registered_name": "names and versions",
        **dict.fromkeys(("assets", "weights", "build_config", "compile_config"), "files and calls of other programs"),
    },
)


def has_form(value: Any, form: Form) -> bool:
    """Return whether a JSON value has a form, such as {"text": str, "spans": [{"start": int}]}.

    Args:
        value: any JSON value.
        form: one of these:
            str        a value of this type, `object` for any value
            {name: f}  an object with at least these members
            [f]        a list of any length
            (f, g)     a list with exactly these items
    """
    if isinstance(form, Mapping):
        is_object = isinstance(value, dict)
        return is_object and all(name in value and has_form(value[name], form[name]) for name in form)
    if isinstance(form, list):
        return isinstance(value, list) and all(has_form(item, form[0]) for item in value)
    if isinstance(form, tuple):
        return isinstance(value, list) and len(value) == len(form) and all(map(has_form, value, form))
    return isinstance(value, form)


def as_object(value: object) -> dict[str, Any]:
    """Return the value if it is an object, else {}."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return the value if it is a list, else []."""
    return value if isinstance(value, list) else []


def member_object(values: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    """Return a member that is an object, {} if it is missing."""
    member = values.get(name)
    return member if isinstance(member, Mapping) else {}


def json_type(value: object) -> str:
    """Return a value's JSON type for messages, such as `an object` or `null`."""
    return _TYPE_NAMES.get(type(value), "null")


def expect(value: object, expected_type: type, place: str, advice: str) -> Any:
    """Return the value if it has the expected type, else raise InputError.

    Args:
        value: any JSON value.
        expected_type: dict, list, str, bool or int.
        place: start of the message, such as a file with its line or key.
        advice: what to do, which ends the message.
    """
    if type(value) is not expected_type:  # isinstance would accept true as a whole number
        needed = "a whole number" if expected_type is int else _TYPE_NAMES[expected_type]
        raise InputError(f"{place}: is {json_type(value)}, {needed} is needed; {advice}")
    return value


def expect_member(value: object, key: str, expected_type: type, place: str, advice: str) -> Any:
    """Return `value[key]` if `value` is an object with such a member, else raise InputError.

    Args:
        value: any JSON value.
        key: the member's name.
        expected_type: see `expect`.
        place: where `value` is, see `expect`.
        advice: see `expect`.
    """
    members = expect(value, dict, place, advice)
    refuse_if(key not in members, f'{place}: has no "{key}"; {advice}')
    return expect(members[key], expected_type, f"{place}.{key}", advice)
