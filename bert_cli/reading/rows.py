"""Table rows, and checks that are shared by all readers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import count_more
from bert_cli.base.log import LOG


class DecimalList(tuple[str, ...]):
    """A cell with a list of numbers that are not all whole, such as probabilities."""


def make_list_cell(values: Sequence[Any], texts: Iterable[str]) -> tuple[str, ...]:
    """Return a cell for a list.

    Args:
        values: the list's items.
        texts: the items as text.
    """
    are_numbers = len(values) > 1 and all(type(value) in (int, float) for value in values)
    has_decimal = are_numbers and not all(float(value).is_integer() for value in values)
    return DecimalList(texts) if has_decimal else tuple(texts)


class Row(NamedTuple):
    """One table row: its first line's 1-based number, and its cells."""

    line: int
    cells: Sequence[str]

    def cell(self, column: int | None) -> str:
        """Return the cell in a column, or "" if it is missing.

        Args:
            column: 0-based number, -1 for the last column, None for no column.
        """
        if column is None or not -len(self.cells) <= column < len(self.cells):
            return ""
        return self.cells[column]


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


def skip_blank_lines(path: str, rows: Iterable[Row | int], warns: bool = True) -> Iterator[Row]:
    """Yield the rows, and log the number of blank lines between rows.

    Args:
        path: the file, for messages.
        rows: rows, and line numbers of blank lines.
        warns: whether to log the number.
    """
    blank: list[int] = []
    num_skipped = 0
    for row in rows:
        if isinstance(row, Row):
            # Do not count blank lines after the last row, which many editors write.
            num_skipped = len(blank)
            yield row
        else:
            blank.append(row)
    if num_skipped and warns:
        LOG.warning("%s: skipped %d blank line(s), the first is line %d", path, num_skipped, blank[0])
