"""Parser for lists written as text by Python, NumPy, JSON or Label Studio."""

import ast
import json
import re
from typing import NamedTuple

_STRING = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_NUMBER = r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|[Tt]rue|[Ff]alse"
_ITEM = re.compile(f"{_STRING}|{_NUMBER}")
# NumPy uses no commas. ast.literal_eval would join 'a' 'b' into one text.
_ITEMS = re.compile(rf"\s*(?:(?:{_STRING}|{_NUMBER})(?:\s*,\s*|\s+|\s*$))*")
_BRACKETS = {"[": "]", "(": ")", "{": "}"}
_ARRAY = re.compile(r"(?:np\.|numpy\.)?array\((.*?)(?:,\s*dtype=[\w.<>']+)?\)", re.DOTALL)
_CHOICES = "choices"  # Label Studio's key for several labels in a CSV cell
_SPANS = re.compile(r'\[\s*\{(?=[^}]*"(?:start|start_offset)"\s*:)(?=[^}]*"labels?"\s*:)')
# pandas.cut writes half-open intervals, which are number bins and never lists.
_HALF_OPEN = re.compile(rf"\[\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\)|\(\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\]")


class WrittenList(NamedTuple):
    """A list parsed from a text.

    Attributes:
        items: items as text, without quotes.
        is_certain: whether the text cannot be a class name, because its items have quotes.
    """

    items: tuple[str, ...]
    is_certain: bool


def starts_like_list(text: str) -> bool:
    """Return whether a text starts like a list."""
    return text[:1] in _BRACKETS or _ARRAY.match(text) is not None


def has_spans(text: str) -> bool:
    """Return whether a text is a list of annotated spans, as in Label Studio's CSV."""
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
    inside = text[1:-1].strip()
    if text[0] == "{" and inside.lstrip("\"'").startswith(_CHOICES):
        return _parse_choices(text)
    if _ITEMS.fullmatch(inside) is None:
        return None
    items = _ITEM.findall(inside)
    has_quotes = any(item[0] in "'\"" for item in items)
    # (3) is a number in parentheses, and (3,) is a tuple.
    if text[0] == "(" and len(items) == 1 and not has_quotes and "," not in inside:
        return None
    return WrittenList(tuple(map(_unquote, items)), has_quotes)


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
