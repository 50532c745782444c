"""Table rows, and checks that are shared by all readers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import count_more


class Row(NamedTuple):
    """One table row: its first line's 1-based number, and its cells. A blank line has no cells."""

    line: int
    cells: Sequence[Any]

    def cell(self, column: int | None) -> str:
        """Return the cell in a column, or "" if it is missing.

        Args:
            column: 0-based number, -1 for the last column, None for no column.
        """
        if column is None or not -len(self.cells) <= column < len(self.cells):
            return ""
        return self.cells[column]


class LeftOutRows(NamedTuple):
    """Rows of a file that a reader leaves out for the same reason.

    Attributes:
        reason: description of the rows in the plural, such as "blank lines".
        num_rows: number of rows.
        line: the first row's 1-based line, 0 if it is unknown.
        is_requested: whether a flag or the file itself says that such rows do not count.
        details: description of the rows, or "".
    """

    reason: str
    num_rows: int
    line: int = 0
    is_requested: bool = False
    details: str = ""

    @classmethod
    def of_lines(
        cls, reason: str, lines: Sequence[int], is_requested: bool = False, details: str = ""
    ) -> "tuple[LeftOutRows, ...]":
        """Return the rows in these lines, () without lines.

        Args:
            reason, is_requested, details: see the attributes.
            lines: line numbers in ascending order.
        """
        return (cls(reason, len(lines), lines[0], is_requested, details),) if lines else ()

    def __str__(self) -> str:
        number = f"{self.num_rows:,}" + (f": {self.details}" if self.details else "")
        line = f"{'the first is ' if self.num_rows > 1 else ''}line {self.line}" if self.line else ""
        return f"{self.reason} ({'; '.join(filter(None, (number, line)))})"


def refuse_rows(
    path: str,
    invalid: Sequence[tuple[int, Any]],
    describe: Callable[[Any], str],
    advice: str,
) -> None:
    """Raise InputError for the first invalid row, with the number of further rows.

    Args:
        path: the file, for the message.
        invalid: line and invalid value per row; if it is empty, nothing is raised.
        describe: function that describes an invalid value.
        advice: instruction for the user.
    """
    if invalid:
        line, value = invalid[0]
        raise InputError(f"{path}:{line}: {describe(value)}{count_more(invalid)}; {advice}")


def skip_blank_lines(rows: Iterable[Row], left_out: list[LeftOutRows] | None = None) -> Iterator[Row]:
    """Yield the rows without blank lines.

    Args:
        rows: rows and blank lines.
        left_out: list that gets the blank lines between rows, after the last row.
    """
    blank: list[int] = []
    num_skipped = 0
    for row in rows:
        if row.cells:
            # Do not count blank lines after the last row, which many editors write.
            num_skipped = len(blank)
            yield row
        else:
            blank.append(row.line)
    if left_out is not None:
        left_out.extend(LeftOutRows.of_lines("blank lines", blank[:num_skipped]))
