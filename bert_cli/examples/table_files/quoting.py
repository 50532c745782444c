"""Quotes of CSV: reading them, and finding them in a tab-separated file that is read literally.

A writer of CSV, such as pandas' to_csv, puts a cell into quotes if it holds a separator, a line
end or a quote, and doubles the quotes inside. Quotes that belong to a text are not doubled.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG

TAB = "\t"
ADVICE = "cells in CSV quotes are read with --quoting=csv"
_LONGEST_CELL = 1 << 27  # characters; csv's own limit of 131,072 is below what people have
_NUMBER = re.compile(r"[-+.\deE]*")  # also an empty cell


def quoted_rows(
    path: str, lines: Iterable[str], delimiter: str, first_line: int = 1
) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of each row; a blank line is a row without cells.

    A cell in quotes may hold delimiters, line ends and doubled quotes. Raise InputError, with the
    line and the assumed delimiter, for a quote that is not closed or not doubled.

    Args:
        path: the file, for messages.
        lines: its lines, with their ends.
        delimiter: the character between cells.
        first_line: the number of the first of `lines`; a row has the number of the line in
            which it begins.
    """
    csv.field_size_limit(_LONGEST_CELL)
    sign = repr(delimiter)
    advice = f"columns are divided by {sign}"
    if delimiter == TAB:
        advice += "; --quoting=none reads the file literally"
    # strict: without it, a quote that is never closed swallows the rest of the file as one cell.
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    start = first_line
    try:
        for cells in reader:
            # A line of blanks alone is blank if it is read literally, too.
            is_blank = delimiter == TAB and len(cells) == 1 and cells[0].isspace()
            yield start, [] if is_blank else cells
            start = reader.line_num + first_line
    except csv.Error as error:
        if "end of data" in str(error) or "field larger" in str(error):
            raise InputError(
                f"{path}:{start}: a quote that opens in this row is not closed; double it, or close it; {advice}"
            ) from None
        place = f"{path}:{reader.line_num + first_line - 1}"
        if "new-line character" in str(error):
            raise InputError(
                f"{place}: a carriage return inside the line; remove it, or save the file with \\n line ends"
            ) from None
        # Python names the delimiter, a tab as it is.
        problem = str(error).replace(TAB, "\\t")
        raise InputError(
            f"{place}: {problem} (the row begins in line {start}); a quote inside a quoted cell is doubled; {advice}"
        ) from None


def would_mend(lines: Iterable[str], line: int, fits: Callable[[int], bool]) -> bool:
    """Return whether every row of a tab-separated file fits by its width, if read with CSV quotes.

    Args:
        lines: lines of the file.
        line: the number of the last line to read.
        fits: function of a number of cells.
    """
    try:
        for start, cells in quoted_rows("", lines, TAB):
            if start > line:
                return True
            if cells and not fits(len(cells)):
                return False
    except InputError:
        return False
    return True


class LiteralRows:
    """Counts the rows of a tab-separated file, read literally, that have cells in CSV quotes.

    A row counts in these cases:
      a cell is in quotes, or opens one, and all quotes inside are doubled;
      it has more cells than the first row, but with CSV quotes as many;
      its last cell opens a quote, and it or the next row has fewer cells than the first one.
    All rows count if each cell of the file is in quotes or a number, as with QUOTE_ALL and
    QUOTE_NONNUMERIC of Python's csv.

    Attributes:
      needs_next: the next row must be given to `add` even if it holds no quote.
    """

    def __init__(self) -> None:
        self.needs_next = True
        self._begin = 0  # line of the first row
        self._width = 0  # cells of the first row
        self._count = 0
        self._example = 0  # line of the first row that counts
        self._opened = 0  # line of the row before, if its last cell opens a quote
        self._wholly_quoted = 0
        self._has_quoted_pair = False

    def add(self, line: int, text: str, cells: Sequence[str]) -> None:
        """Look at a row. line: its number; text: its cells with tabs between."""
        # Quotes inside a cell are the usual ones in texts: they must cost next to nothing.
        if not (self.needs_next or '\t"' in text or text.startswith('"')):
            return
        self._begin = self._begin or line
        self._width = self._width or len(cells)
        is_short = len(cells) < self._width
        if self._opened and is_short:
            self._found(self._opened)
        begun = [cell for cell in cells if cell.startswith('"')]
        opens = cells[-1].startswith('"') and cells[-1].count('"') % 2 == 1
        is_divided = len(cells) > self._width and self._would_fit(text)
        counts = is_divided or (opens and is_short) or any(map(_has_doubled_quotes, begun))
        if counts:
            self._found(line)
        self.needs_next = opens and not counts
        self._opened = line if self.needs_next else 0
        quoted = sum(map(_is_quoted, begun))
        numbers = sum(_NUMBER.fullmatch(cell) is not None for cell in cells) if quoted else 0
        if quoted and quoted + numbers == len(cells):
            self._wholly_quoted += 1
            self._has_quoted_pair |= quoted > 1

    def _found(self, line: int) -> None:
        self._count += 1
        self._example = self._example or line

    def _would_fit(self, text: str) -> bool:
        """Whether there are as many cells as in the first row if a cell in quotes may hold tabs."""
        return would_mend([text], 1, lambda width: width == self._width)

    def warn(self, path: str, num_rows: int) -> None:
        """Log a warning if rows count. num_rows: how many rows the file has."""
        # Without a row of two quoted cells, such as a header, all texts may be quotations.
        is_all = self._has_quoted_pair and self._wholly_quoted == num_rows
        count = num_rows if is_all else self._count
        if count:
            LOG.warning(
                "%s: warning: %d row%s cells in CSV quotes, such as line %d; they are read "
                "literally, as run_classifier.py does; --quoting=csv reads them as pandas wrote "
                "them",
                path, count, " has" if count == 1 else "s have", self._begin if is_all else self._example,
            )  # fmt: skip


def _is_quoted(cell: str) -> bool:
    """Whether a cell that begins with a quote ends with one, and all quotes inside are doubled."""
    return len(cell) > 1 and cell.endswith('"') and '"' not in cell[1:-1].replace('""', "")


def _has_doubled_quotes(cell: str) -> bool:
    """Whether all quotes in a cell after the first one are doubled, but for one that closes it.

    The cell begins with a quote. False for a cell without doubled quotes.
    """
    rest = cell[1:]
    return '""' in rest and '"' not in rest.replace('""', "").removesuffix('"')
