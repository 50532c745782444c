"""Parts of error messages: quoted cells, and lists of names that are cut."""

from collections.abc import Sequence


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
