"""Rows of a table, and the checks that every reader of rows shares."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.messages import count_more


class Row(NamedTuple):
    """One row of a table: the 1-based number of its first line in the file, and its cells."""

    line: int
    cells: Sequence[str]

    def cell(self, column: int | None) -> str:
        """Return the cell of a 0-based column (-1: the last), or "" if the row has no such cell."""
        if column is None or not -len(self.cells) <= column < len(self.cells):
            return ""
        return self.cells[column]


def refuse_rows(path: str, wrong: Sequence[tuple[int, Any]], problem: Callable[[Any], str], advice: str) -> None:
    """Raise InputError about the first wrong row, with the number of further ones.

    Args:
        path: file of the rows, for the message.
        wrong: line and wrong value of each such row; nothing happens if it is empty.
        problem: function that describes a wrong value.
        advice: what to do about it.
    """
    if wrong:
        line, value = wrong[0]
        raise InputError(f"{path}:{line}: {problem(value)}{count_more(wrong)}; {advice}")


def without_blank_lines(path: str, rows: Iterable[Row | int], warns: bool = True) -> Iterator[Row]:
    """Yield the rows without the numbers of blank lines, and log how many lie between rows."""
    blank: list[int] = []
    num_skipped = 0
    for row in rows:
        if isinstance(row, Row):
            # Blank lines after the last row are no mistake: many editors end a file with one.
            num_skipped = len(blank)
            yield row
        else:
            blank.append(row)
    if num_skipped and warns:
        LOG.warning("%s: skipped %d blank line(s), the first is line %d", path, num_skipped, blank[0])
