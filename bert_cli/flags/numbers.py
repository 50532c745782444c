"""Parsers for numbers on the command line, and for lists of numbers in a grid of runs."""

import itertools
import re
from typing import Any

from absl import flags as absl_flags

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
    """Parser for a number, or for a comma-separated list of numbers, which becomes a tuple.

    Numbers in a list must differ.
    """

    def __init__(self, number: Number):
        self._number = number

    def parse(self, argument: Any) -> Any:
        if not isinstance(argument, str) or "," not in argument:
            return self._number.parse(argument)
        items = [item.strip() for item in argument.split(",")]
        for first, second in itertools.pairwise(items):
            if _is_torn_number(first, second):
                raise ValueError(
                    f"a comma divides the numbers of a list, and {first},{second} looks like one number; numbers "
                    f"have a decimal point, as {first}.{second}, and no sign between thousands"
                )
        values = tuple(self._number.parse(item) for item in items)
        if len(set(values)) < len(values):
            raise ValueError("a list needs different numbers")
        return values


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
