"""Components of a page: sections with cards, each of a kind that the template can show, and numbers as texts."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bert_cli.base.formats import byte_size, duration


@dataclasses.dataclass(frozen=True)
class Card:
    """A part of a page. kind: a macro of templates/page.html; content: what that takes; note: a sentence below it.

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
    """A chapter of a page."""

    key: str
    title: str
    cards: Sequence[Card]


@dataclasses.dataclass(frozen=True)
class ReportTable:
    """head: names of the columns; rows: cells, text or numbers; numbers stand on the right. best: marked rows."""

    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    best: frozenset[int] = frozenset()


@dataclasses.dataclass(frozen=True)
class Tile:
    """A large number, what it is, and a word below it."""

    value: str
    name: str
    note: str = ""


def number(value: Any, digits: int = 4) -> str:
    """A number for people: digits behind the point where it is small, groups of three where it is large."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "" if value is None else str(value)
    if not math.isfinite(value):
        return str(value)
    if isinstance(value, int) or (value == round(value) and abs(value) >= 1000):
        return f"{int(value):,}"
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    if size >= 100:
        return f"{value:.1f}"
    return f"{value:.{digits}f}" if size >= 1e-4 or not size else f"{value:.2e}"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def clock(seconds: Any) -> str:
    """A span of time; "" where a run did not measure it."""
    return duration(seconds) if isinstance(seconds, int | float) else ""


def memory(size: Any) -> str:
    """An amount of memory; "" where a run did not measure it."""
    return byte_size(size, MB=0, GB=2) if isinstance(size, int | float) else ""


def facts(pairs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values that are there."""
    return [(name, number(value)) for name, value in pairs.items() if value not in (None, "", [], ())]
