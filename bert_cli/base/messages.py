"""Pieces of error messages: a cell in quotes, and how many more findings there are."""

from collections.abc import Sequence


def count_more(found: Sequence) -> str:
    """` (and 12 more such rows)`, or nothing, for an error that shows the first of several
    findings.
    """
    rest = len(found) - 1
    return f" (and {rest} more such row{'s' if rest > 1 else ''})" if rest else ""


def quote(cell: str, width: int = 40) -> str:
    """A cell for a message: quoted, on one line, cut after `width` characters."""
    return repr(cell if len(cell) <= width else cell[: width - 1] + "…")


def list_some(names: Sequence[str], count: int = 8) -> str:
    """The first `count` names, and how many more there are."""
    rest = len(names) - count
    return ", ".join(names[:count]) + (f" and {rest} more" if rest > 0 else "")


def list_names(names: Sequence[str]) -> str:
    """The first ten names, and "…" where there are more."""
    return ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
