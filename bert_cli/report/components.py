"""Components of a page: sections with cards, each of a kind that the template can show, and numbers
as texts.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bert_cli.base.formats import byte_size, duration


@dataclasses.dataclass(frozen=True)
class Card:
    """A part of a page. kind: a macro of templates/page.html; content: what that takes, of which
    nothing is shown where it is empty; note: a sentence below it.

    key: its id in the page. is_wide: it takes the whole width.
    """

    key: str
    title: str
    kind: str
    content: Any
    note: str = ""
    is_wide: bool = False


@dataclasses.dataclass(frozen=True)
class Section:
    """A chapter of a page; none where no card has content."""

    key: str
    title: str
    cards: Sequence[Card]


@dataclasses.dataclass(frozen=True)
class ReportTable:
    """head: names of the columns; rows: cells, text or numbers; numbers are aligned right. best:
    marked rows.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    best: frozenset[int] = frozenset()


@dataclasses.dataclass(frozen=True)
class Tile:
    """A large number, what it is, and a word below it. link: an anchor of the page that the word
    leads to.
    """

    value: str
    name: str
    note: str = ""
    link: str = ""


_SMALL = 1e-3  # numbers below it are written as 2.5e-05, everywhere in the page


def setting(value: float, digits: int = 10) -> str:
    """A number as somebody has set it, without zeros at the end: 0.1, 128; a small one with three
    digits and an exponent: 2.5e-05.
    """
    if not 0 < abs(value) < _SMALL:
        return f"{value:,.{digits}g}"
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{exponent}"


def number(value: Any, digits: int = 4) -> str:
    """A number for people: a count in groups of three, another one with `digits` decimals, fewer
    where it is large.

    Small numbers have an exponent.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "" if value is None else str(value)
    if not math.isfinite(value):
        return str(value)
    if isinstance(value, int) or (value == round(value) and abs(value) >= 1000):
        return f"{int(value):,}"
    size = abs(value)
    if 0 < size < _SMALL:
        return setting(value)
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 100 else f"{value:.{digits}f}"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def prediction(name: str, probability: float) -> str:
    """A label with its probability: good · 97.1 %."""
    return f"{name} · {percent(probability)}"


def plain(value: Any) -> str | None:
    """A setting as flags.txt has it; None stays None."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return setting(value)
    return ", ".join(map(str, value)) if isinstance(value, list) else value if value is None else str(value)


def clock(seconds: Any) -> str:
    """A span of time; "" where a run did not measure it."""
    return duration(seconds) if isinstance(seconds, int | float) else ""


def memory(size: Any) -> str:
    """An amount of memory; "" where a run did not measure it."""
    return byte_size(size, MB=0, GB=2) if isinstance(size, int | float) else ""


def facts(pairs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values that are there."""
    return [(name, number(value)) for name, value in pairs.items() if value not in (None, "", [], ())]
