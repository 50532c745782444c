"""Page components: sections with cards that the template can show, and numbers as text."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bert_cli.base.formats import byte_size, duration


@dataclasses.dataclass(frozen=True)
class Card:
    """A box in a page.

    Attributes:
        key: its id in the page.
        title: its heading.
        kind: macro name in templates/page.html.
        content: the macro's argument; a card without content is not shown.
        note: sentence below the content.
        is_wide: whether it uses the whole width.
    """

    key: str
    title: str
    kind: str
    content: Any
    note: str = ""
    is_wide: bool = False


@dataclasses.dataclass(frozen=True)
class Section:
    """A chapter in a page, which is shown if a card has content."""

    key: str
    title: str
    cards: Sequence[Card]


@dataclasses.dataclass(frozen=True)
class Link:
    """A text with a link to a file, by a relative path in URL form."""

    text: str
    href: str


@dataclasses.dataclass(frozen=True)
class ReportTable:
    """A table.

    Attributes:
        head: column headings.
        rows: cells: texts, numbers or links.
        best: row numbers to mark.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    best: frozenset[int] = frozenset()


@dataclasses.dataclass(frozen=True)
class Tile:
    """A large number with its name, and a note below that may link to an anchor in the page."""

    value: str
    name: str
    note: str = ""
    link: str = ""


_SMALL = 1e-3  # smaller numbers are written as 2.5e-05 everywhere in the page


def format_setting_number(value: float, digits: int = 10) -> str:
    """Return a number as people set it, without trailing zeros: 0.1, 128, 2.5e-05.

    Small numbers have up to three digits and an exponent.
    """
    return _with_exponent(value) if 0 < abs(value) < _SMALL else f"{value:,.{digits}g}"


def _with_exponent(value: float) -> str:
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{exponent}"


def settings_in_one_format(values: Sequence[Any]) -> list[str]:
    """Return settings as text; if a number has an exponent, all other decimal numbers have one."""
    numbers = [value for value in values if isinstance(value, float) and value]
    if all(abs(value) >= _SMALL for value in numbers):
        return [format_setting(value) or "" for value in values]
    is_short = all(float(_with_exponent(value)) == value for value in numbers)
    # Show all digits of long numbers, which may differ in the last one.
    write = _with_exponent if is_short else repr
    return [write(value) if isinstance(value, float) and value else format_setting(value) or "" for value in values]


def number_formatter(values: Sequence[float]) -> Callable[[float | None], str]:
    """Return a function that writes the numbers of a column in one format: decimals or exponents.

    Args:
        values: the numbers of the column.
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if not sizes or min(sizes) >= _SMALL:
        return number
    # Decimals would show less than two digits of most numbers.
    is_small = max(sizes) < 10 * _SMALL

    def write(value: float | None) -> str:
        if value is None or isinstance(value, int) or not math.isfinite(value):
            return number(value)
        return f"{value:.2e}" if is_small else f"{value:.4f}"

    return write


def number(value: Any, digits: int = 4) -> str:
    """Return a number for people: a count in groups of three, or a decimal number.

    Decimal numbers have `digits` decimals, or fewer if they are large. Small numbers have an
    exponent.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "" if value is None else str(value)
    if not math.isfinite(value):
        return str(value)
    if isinstance(value, int) or (value == round(value) and abs(value) >= 1000):
        return f"{int(value):,}"
    size = abs(value)
    if 0 < size < _SMALL:
        return format_setting_number(value)
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 100 else f"{value:.{digits}f}"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def format_label_probability(name: str, probability: float) -> str:
    """Return a label with its probability: good · 97.1 %."""
    return f"{name} · {percent(probability)}"


def format_setting(value: Any) -> str | None:
    """Return a setting as in flags.txt; None stays None."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return format_setting_number(value)
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return None if value is None else str(value)


def time_span(seconds: Any) -> str:
    """Return a time span, "" if the run did not measure it."""
    return duration(seconds) if isinstance(seconds, int | float) else ""


def memory(size: Any) -> str:
    """Return an amount of memory, "" if the run did not measure it."""
    return byte_size(size, MB=0, GB=2) if isinstance(size, int | float) else ""


def format_named_values(pairs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return names and values, without missing values."""
    return [(name, number(value)) for name, value in pairs.items() if value not in (None, "", [], ())]
