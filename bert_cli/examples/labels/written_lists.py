"""Parser for lists written as text by Python, NumPy, JSON or Label Studio."""

import ast
import json
import math
import re
from typing import NamedTuple

_STRING = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_NUMBER = r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|[Tt]rue|[Ff]alse"
_ITEM = re.compile(f"{_STRING}|{_NUMBER}")
# NumPy uses no commas. ast.literal_eval would join 'a' 'b' into one text.
_ITEMS = re.compile(rf"\s*(?:(?:{_STRING}|{_NUMBER})(?:\s*,\s*|\s+|\s*$))*")
_BRACKETS = {"[": "]", "(": ")", "{": "}"}
_ARRAY = re.compile(r"(?:(?:np\.|numpy\.)?array|tensor)\((.*?)(?:,\s*dtype=[\w.<>']+)?\)", re.DOTALL)
# NumPy 2 writes np.float64(0.5) for a number in a list.
_SCALAR = re.compile(rf"(?:np|numpy)\.\w+\(({_STRING}|{_NUMBER})\)")
_MAX_DIFFERENCE = 0.02  # of a sum of rounded probabilities from 1
_CHOICES = "choices"  # Label Studio's key for several labels in a CSV cell
_SPANS = re.compile(
    r'\[\s*(?:\{(?=[^}]*"(?:start|start_offset)"\s*:)(?=[^}]*"labels?"\s*:)|\[\s*\d+\s*,\s*\d+\s*,\s*"[^"]*"\s*\])'
)
# pandas.cut writes half-open intervals, which are number bins and never lists.
_HALF_OPEN = re.compile(rf"\[\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\)|\(\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\]")


class WrittenList(NamedTuple):
    """A list parsed from a text.

    Attributes:
        items: items as text, without quotes.
        is_certain: whether the text cannot be a class name, because its items have quotes.
        are_decimals: whether its items are numbers that are not all whole, such as probabilities.
    """

    items: tuple[str, ...]
    is_certain: bool
    are_decimals: bool = False

    @property
    def sums_to_one(self) -> bool:
        """Return whether the items are decimals that sum to 1, so they are probabilities."""
        return self.are_decimals and math.isclose(sum(map(float, self.items)), 1, abs_tol=_MAX_DIFFERENCE)


def starts_like_list(text: str) -> bool:
    """Return whether a text starts like a list."""
    return text[:1] in _BRACKETS or _ARRAY.match(text) is not None


def is_span_list(text: str) -> bool:
    """Return whether a text is a list of annotated spans, as in Label Studio's CSV and doccano."""
    return _SPANS.match(text) is not None


def is_half_open_interval(text: str) -> bool:
    """Return whether a text is an interval such as (0, 10]."""
    return _HALF_OPEN.fullmatch(text) is not None


def parse_list(text: str) -> WrittenList | None:
    """Parse a list; return None if the text is not a list.

    `[Other]` and `(none)` are not lists, because list items are numbers or use quotes.
    """
    if array := _ARRAY.fullmatch(text):
        text = array[1].strip()
    if text[:1] not in _BRACKETS or text[-1:] != _BRACKETS[text[0]]:
        return None
    inside = _SCALAR.sub(r"\1", text[1:-1].strip())
    if text[0] == "{" and inside.lstrip("\"'").startswith(_CHOICES):
        return _parse_choices(text)
    if text[0] == "{" and ":" in inside and (members := _parse_members(text)):
        return members
    if _ITEMS.fullmatch(inside) is None:
        return None
    items = _ITEM.findall(inside)
    has_quotes = any(item[0] in "'\"" for item in items)
    # (3) is a number in parentheses, and (3,) is a tuple.
    if text[0] == "(" and len(items) == 1 and not has_quotes and "," not in inside:
        return None
    are_decimals = len(items) > 1 and not has_quotes and any(map(_is_decimal, items))
    return WrittenList(tuple(map(_unquote, items)), has_quotes, are_decimals)


def _is_decimal(number: str) -> bool:
    return number.lower() not in ("true", "false") and not float(number).is_integer()


def _parse_members(text: str) -> WrittenList | None:
    """Parse an object with a 0 or 1 per label, as spaCy's "cats"; None if it has other values."""
    try:
        members = json.loads(text)
    except ValueError:
        try:
            members = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    if not isinstance(members, dict) or not all(isinstance(number, int | float) for number in members.values()):
        return None
    if all(number in (0, 1) for number in members.values()):
        return WrittenList(tuple(str(name).strip() for name, number in members.items() if number), is_certain=True)
    return WrittenList(tuple(map(str, members.values())), is_certain=True, are_decimals=True)


def _parse_choices(text: str) -> WrittenList | None:
    try:
        values = json.loads(text)
    except ValueError:
        return None
    choices = values.get(_CHOICES)
    if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
        return None
    return WrittenList(tuple(choice.strip() for choice in choices), is_certain=True)


def _unquote(item: str) -> str:
    if item[0] not in "'\"":
        return item
    try:
        text = json.loads(item) if item[0] == '"' else ast.literal_eval(item)
    except (ValueError, SyntaxError):
        text = item[1:-1]
    return str(text).strip()
