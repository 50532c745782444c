"""Sizes, durations, quoted cells and lists of names as text, and numbers in text."""

import math
import re
from collections.abc import Sequence

_BYTES = {"bytes": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}


def parse_number(text: str) -> float:
    """Return the number in a text, or NaN, which makes comparisons false, if there is no number."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def is_number(text: str) -> bool:
    """Return whether a cell is a whole number or a decimal with a point."""
    # Not float(), which also takes nan, inf, 1e5 and 1_000: words and ids in most tables.
    return re.fullmatch(r"[-+]?\d+(\.\d+)?", text.strip()) is not None


def byte_size(size: float, **digits: int) -> str:
    """Return a size in the largest unit that fits: byte_size(2_500_000, MB=1, GB=2) is "2.5 MB".

    Args:
        size: bytes.
        **digits: digits after the point for each allowed unit, smallest unit first. The smallest
            unit also shows sizes below it.
    """
    smallest, *larger = digits
    unit = next((unit for unit in reversed(larger) if size >= _BYTES[unit]), smallest)
    return f"{size / _BYTES[unit]:.{digits[unit]}f} {unit}"


def _split_seconds(seconds: float) -> tuple[int, int, int]:
    """Return hours, minutes and seconds, rounded to whole seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return *divmod(minutes, 60), rest


def clock(seconds: float) -> str:
    """Return seconds as 0:05, 12:34 or 1:02:03."""
    hours, minutes, rest = _split_seconds(seconds)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def duration(seconds: float) -> str:
    """Return seconds as 5.2 s, 12 min 34 s or 1 h 02 min."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    hours, minutes, rest = _split_seconds(seconds)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def count_more(rows: Sequence) -> str:
    """Return ` (and 12 more such rows)` for an error that shows only the first of several rows.

    The text is empty if there is one row.
    """
    rest = len(rows) - 1
    return f" (and {rest} more such row{'s' if rest > 1 else ''})" if rest else ""


def quote(cell: str, width: int = 40) -> str:
    """Return a cell for a message: quoted, on one line, cut after `width` characters."""
    return repr(cell if len(cell) <= width else cell[: width - 1] + "…")


def list_some(names: Sequence[str], count: int = 8) -> str:
    """Return the first `count` names, and how many more there are."""
    rest = len(names) - count
    return ", ".join(names[:count]) + (f" and {rest} more" if rest > 0 else "")


def list_names(names: Sequence[str]) -> str:
    """Return the first ten names, and "…" if there are more."""
    return ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
