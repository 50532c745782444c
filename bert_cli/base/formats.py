"""Numbers with a unit for people, amounts of bytes and spans of time; and numbers that people write."""

import math
import re

_BYTES = {"bytes": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}


def parse_number(text: str) -> float:
    """The number that a text is, NaN for any other text: a comparison with it is false."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def is_number(text: str) -> bool:
    """Return whether a cell is a whole number or a decimal with a point."""
    # Not float(), which also takes nan, inf, 1e5 and 1_000: words and ids in most tables.
    return re.fullmatch(r"[-+]?\d+(\.\d+)?", text.strip()) is not None


def byte_size(size: float, **digits: int) -> str:
    """Bytes in the largest unit that they reach: byte_size(2_500_000, MB=1, GB=2) is 2.5 MB.

    digits: after the point, for each unit that may be used, from the smallest one on, which is used
    for smaller numbers, too.
    """
    smallest, *larger = digits
    unit = next((unit for unit in reversed(larger) if size >= _BYTES[unit]), smallest)
    return f"{size / _BYTES[unit]:.{digits[unit]}f} {unit}"


def _hours(seconds: float) -> tuple[int, int, int]:
    """Whole hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return *divmod(minutes, 60), rest


def clock(seconds: float) -> str:
    """Seconds as 0:05, 12:34 or 1:02:03."""
    hours, minutes, rest = _hours(seconds)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def duration(seconds: float) -> str:
    """Seconds as 5.2 s, 12 min 34 s or 1 h 02 min."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    hours, minutes, rest = _hours(seconds)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
