"""Values of flags: checks that command lines and programs share, and typed values from programs."""

import itertools
import math
import numbers
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from absl import flags as absl_flags

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.names import join_names
from bert_cli.flags.option import Flag
from bert_cli.flags.paths import expand_home

# Messages of absl and Python, as regular expressions, and plain replacements.
_PLAINER = (
    (r"invalid literal for int\(\).*", "a whole number is needed"),
    (r"could not convert string to float.*", "a number is needed"),
    (r"\('Non-boolean argument.*", "true or false is needed"),
    (r"^flag --", "--"),
)

_BYTES = (bytes, bytearray)
_UNREADABLE = (*_BYTES, set, frozenset)
_WITH_COMMA = re.compile(r"[-+]?[\d.]+(?:,[\d.]+)+(?:[eE][-+]?\d+)?%?")
_WHOLE = re.compile(r"[-+]?\d+")


def comma_advice(text: str) -> str:
    """Return advice to append to an error about a number with a comma, or ""."""
    text = text.strip()
    if not _WITH_COMMA.fullmatch(text):
        return ""
    is_decimal = text.count(",") == 1 and "." not in text and not re.fullmatch(r"[-+]?[1-9]\d{0,2},\d{3}", text)
    if is_decimal:
        return f"; numbers have a decimal point, not a comma: {text.replace(',', '.')}"
    return "; numbers have a decimal point, and no sign between thousands"


class Number(absl_flags.ArgumentParser):
    """Parser for a single number, with special errors for numbers that contain a comma."""

    def __init__(self, number_type: type, lower: float | None, upper: float | None, above: float | None = None):
        """Set the bounds.

        Args:
            number_type: int or float.
            lower, upper: inclusive bounds, or None.
            above: exclusive lower bound, or None.
        """
        self._above = above
        self._name = "a whole number" if number_type is int else "a number"
        self._number: absl_flags.ArgumentParser = (
            absl_flags.IntegerParser(lower, upper) if number_type is int else absl_flags.FloatParser(lower, upper)
        )

    def parse(self, argument: Any) -> Any:
        if isinstance(argument, list):
            raise ValueError(f"{self._name} is needed, not a list")
        try:
            number = self._number.parse(argument)
        except ValueError:
            if advice := comma_advice(str(argument)):
                raise ValueError(f"{self._name} is needed{advice}") from None
            raise
        # Not a number (NaN) is refused later, with infinite numbers.
        if self._above is not None and number <= self._above:
            raise ValueError(f"a number above {self._above:g} is needed")
        return number


class NumberOrList(absl_flags.ArgumentParser):
    """Parser for a number, or for a list of numbers, which becomes a tuple.

    A list is a list, or comma-separated. Its numbers must differ.
    """

    def __init__(self, number: Number):
        self._number = number

    def parse(self, argument: Any) -> Any:
        if isinstance(argument, list):
            items = argument
        elif isinstance(argument, str) and "," in argument:
            items = _split_numbers(argument)
        else:
            return self._number.parse(argument)
        if len(items) < 2:
            raise ValueError("a list needs two or more numbers")
        values = tuple(map(self._number.parse, items))
        if len(set(values)) < len(values):
            raise ValueError("a list needs different numbers")
        return values


def _split_numbers(text: str) -> list[str]:
    """Return the numbers in a comma-separated list; raise ValueError if two look like one."""
    items = [item.strip() for item in text.split(",")]
    for first, second in itertools.pairwise(items):
        if _is_torn_number(first, second):
            raise ValueError(
                f"a comma divides the numbers of a list, and {first},{second} looks like one number; numbers "
                f"have a decimal point, as {first}.{second}, and no sign between thousands"
            )
    return items


def _is_torn_number(first: str, second: str) -> bool:
    """Return whether two list items look like one number with a comma.

    Nobody means 0 or 2 and 5e-5 as two learning rates, or writes 024 for 24. Whole numbers that
    have no such sign, as in 2,3, are a list.
    """
    if not _WHOLE.fullmatch(first):
        return False
    has_leading_zero = re.fullmatch(r"0\d+", second) is not None
    has_exponent = re.fullmatch(r"\d+[eE][-+]?\d+", second) is not None
    is_after_zero = first.lstrip("+-") == "0" and second.isdecimal()
    return has_leading_zero or has_exponent or is_after_zero


def number_parser(flag: Flag) -> Number | NumberOrList:
    """Return the parser of a flag for a number, or for a list of numbers in a grid."""
    number = Number(flag.value_type, flag.option.lower, flag.option.upper, flag.option.above)
    return NumberOrList(number) if flag.option.grid else number


def convert_value(flag: Flag, value: object) -> Any:
    """Return a flag's value for a program's value, after the checks that a command line has.

    Args:
        value: a bool, a number, a text or a path; a list of names or numbers; a dict of numbers by
            name. A text is read as on a command line.

    Raises:
        InputError: if the flag cannot have the value. The message begins with --name=value.
    """
    value = _scalar(value)
    try:
        if flag.value_type in (int, float):
            converted = number_parser(flag).parse(_numbers(flag.value_type, value))
        elif flag.value_type is bool:
            converted = absl_flags.BooleanParser().parse(_boolean(value))
        else:
            converted = _text(flag, value)
            if flag.option.choices:
                absl_flags.EnumParser(flag.option.choices).parse(converted)
    except ValueError as error:
        raise InputError(f"--{flag.name}={_show(flag, value)}: {simplify(str(error))}") from None
    return read_value(flag, converted)


def _scalar(value: Any) -> Any:
    """Return the number or text in an array or tensor without axes, and other values unchanged."""
    has_no_axes = getattr(value, "shape", None) == () and hasattr(value, "__array__")
    return value.__array__().item() if has_no_axes else value


def _show(flag: Flag, value: object) -> str:
    """Return a refused value for an error, as on a command line if it can be written there."""
    try:
        return _text(flag, value)
    except ValueError:
        return " ".join(repr(value).split())[:80]


def _numbers(number_type: type, value: object) -> object:
    """Return a number, a list of numbers or a text; raise ValueError for other values."""
    if isinstance(value, str):
        return value
    if isinstance(value, Iterable) and not isinstance(value, (Mapping, *_BYTES)):
        return [_numbers(number_type, _scalar(item)) for item in value]
    # The class of a bool is a whole number, too.
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError("a whole number is needed" if number_type is int else "a number is needed")
    if number_type is int and not isinstance(value, numbers.Integral):
        raise ValueError("a whole number is needed")
    return number_type(value)


def _boolean(value: object) -> str | int:
    """Return a bool, a whole number or a text; raise ValueError for other values."""
    if isinstance(value, str | int):
        return value
    raise ValueError("true or false is needed")


def _text(flag: Flag, value: object) -> str:
    """Return a value as a user would write it after --name=; raise ValueError if nobody could."""
    if isinstance(value, str | os.PathLike):
        return os.fspath(value)
    if isinstance(value, _UNREADABLE):
        raise ValueError("a text is needed" if isinstance(value, _BYTES) else "a list is needed, as a set has no order")
    if isinstance(value, Mapping):
        return join_names([f"{_item_text(name)}={number}" for name, number in value.items()])
    if isinstance(value, Iterable):
        return join_names([_item_text(item) for item in value])
    # A text may name a label, and True is then the label True.
    return str(value) if flag.is_free_text else format_value(value)


def _item_text(item: object) -> str:
    """Return a name in a list or dict as a text; raise ValueError if it is neither text nor number."""
    item = _scalar(item)
    # Only NaN, a missing value, differs from itself.
    if not isinstance(item, str | numbers.Real | os.PathLike) or item != item:
        raise ValueError(f"texts or numbers are needed, found {item!r:.40} among them")
    return str(item)


def read_value(flag: Flag, value: Any) -> Any:
    """Return a flag's value after checks and Option.read.

    Args:
        value: a bool, a number, a tuple of numbers, or a text.

    Raises:
        InputError: if the flag cannot have the value.
    """
    if isinstance(value, str) and not flag.is_file:
        value = decode_text(value, f"--{flag.name}")
    _check_value(flag, value)
    if flag.is_file and value:
        value = expand_home(value, f"--{flag.name}={value}")
    if not flag.option.read:
        return value
    try:
        return flag.option.read(value)
    except InputError as error:
        raise InputError(f"{error}{comma_advice(str(value))}") from None


def _check_value(flag: Flag, value: Any) -> None:
    """Raise InputError for an empty text, or for a number that is not finite."""
    refuse_if(
        value == "" and not flag.option.may_be_empty,
        f"--{flag.name}= has no value (a variable that is not set?); leave the flag out for the default",
    )
    for number in value if isinstance(value, tuple) else (value,):
        is_infinite = isinstance(number, float) and not math.isfinite(number)
        refuse_if(is_infinite, f"--{flag.name}={number}: a finite number is needed")


def decode_text(text: str, place: str) -> str:
    """Return a command-line text decoded as UTF-8.

    In an ASCII locale, Python decodes other bytes to surrogates. Do not decode paths: the system
    needs their original bytes.

    Raises:
        InputError: if the text is not UTF-8; the message begins with `place`.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        try:
            return os.fsencode(text).decode()
        except UnicodeError:
            advice = "give it in UTF-8, or in a file of another encoding"
            raise InputError(f"{place}: is not UTF-8; {advice}") from None
    return text


def format_value(value: Any) -> str:
    """Return a value as a user would write it after --name=."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def format_flag_value(flag: Flag, value: Any) -> str:
    """Return a flag's value as a user would write it after --name=, using Option.write."""
    return flag.option.write(value) if flag.option.write else format_value(value)


def simplify(text: str) -> str:
    """Return a message of absl in plain words."""
    text = " ".join(text.split())
    for pattern, replacement in _PLAINER:
        text = re.sub(pattern, replacement, text)
    return text
