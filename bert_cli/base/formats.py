"""Sizes and durations as text, and numbers in text."""

import math
import re

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
