"""Rows of text files whose cells are divided by tabs, commas, semicolons or vertical bars.

TSV has no quoting, as in Google's files, unless --quoting=csv is given. CSV has quoting: a quoted
cell may hold delimiters, line ends and doubled quotes. CSV is read by Python's csv, not by pandas,
whose reader fills up rows that are too short and does not report their lines.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bert_cli.base.errors import InputError
from bert_cli.examples.table_files.column_names import has_usual_names
from bert_cli.examples.table_files.formats import CSV
from bert_cli.examples.table_files.quoting import TAB, LiteralRows, quoted_rows
from bert_cli.examples.table_files.rows import Row, refuse_rows
from bert_cli.settings.data import CSV_QUOTES, LITERAL

DELIMITER_NAMES = {",": "comma", ";": "semicolon", TAB: "tab", "|": "vertical bar"}
# Excel's directive, also in quotes and followed by the delimiters of empty cells.
_DIRECTIVE = re.compile(r'"?sep=(.)"?\1*\s*', re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Delimited:
    """Division of a text file into rows and cells.

    Attributes:
        delimiter: the character between cells.
        quoting: CSV_QUOTES, or LITERAL if quotes are ordinary characters.
        has_directive: whether line 1 is "sep=…", which is not data.
    """

    delimiter: str = TAB
    quoting: str = LITERAL
    has_directive: bool = False

    def rows(self, path: str, lines: Iterable[str], warns: bool = True) -> Iterator[Row | int]:
        """Yield each row, and for each blank line its number.

        Raise InputError, with the line, for a quote that is not closed, and for a carriage return
        inside a line that is read literally.
        """
        first_line = 1
        if self.has_directive:
            lines = itertools.islice(lines, 1, None)
            first_line = 2
        if self.quoting == LITERAL:
            yield from tab_rows(path, lines, LITERAL, warns, all_glued=False)
            return
        # Cells as a tuple, which takes half the memory of a list.
        for number, cells in quoted_rows(path, lines, self.delimiter, first_line):
            yield Row(number, tuple(cells)) if cells else number


def find_delimited(head: Sequence[str], is_whole: bool, table_format: str, quoting: str) -> Delimited:
    """Return how the first lines of a text file are divided.

    The usual delimiter of the suffix counts if all rows have as many cells. Another delimiter
    counts if it gives all rows the same number of cells, two or more. In a file that is not named
    .csv, where each text may hold commas, the first row must have usual column names as well.

    Args:
        head: the first lines, with their ends.
        is_whole: whether these are all lines of the file.
        table_format: CSV, TSV or TEXTS, by the file's suffix.
        quoting: the value of --quoting, which is about files with tabs that are not named .csv.
    """
    directive = _DIRECTIVE.fullmatch(head[0]) if head else None
    if directive:
        return Delimited(directive[1], CSV_QUOTES, has_directive=True)
    first = head[0] if head else ""
    if table_format == CSV:
        # Spreadsheets write semicolons in countries where the comma is the decimal separator.
        usual = ";" if first.count(";") > first.count(",") else ","
        if _width(head, usual, is_whole) < 2:
            others = [sign for sign in (TAB, ";", "|", ",") if sign != usual]
            fitting = [sign for sign in others if len(head) > 1 and _width(head, sign, is_whole) > 1]
            usual = next(iter(fitting), usual)
        return Delimited(usual, CSV_QUOTES)
    if not any(TAB in line for line in head):
        for sign in (",", ";", "|"):
            if _width(head, sign, is_whole) > 1 and has_usual_names(next(quoted_rows("", head, sign))[1]):
                return Delimited(sign, CSV_QUOTES)
    return Delimited(TAB, quoting)


def _width(head: Sequence[str], delimiter: str, is_whole: bool) -> int:
    """Return the number of cells that all rows have, or 0 if they differ or are not valid CSV."""
    rows = []
    try:
        for _, cells in quoted_rows("", head, delimiter):
            rows.append(cells)
    except InputError:
        # The last row of an excerpt may end inside a quoted cell.
        if is_whole or not rows:
            return 0
    else:
        rows = rows if is_whole or len(rows) == 1 else rows[:-1]
    widths = {len(cells) for cells in rows if cells}
    return widths.pop() if len(widths) == 1 else 0


def tab_rows(
    path: str, lines: Iterable[str], quoting: str, warns: bool = True, all_glued: bool = True
) -> Iterator[Row | int]:
    """Yield the rows of a tab-separated file, and for each blank line its number.

    Args:
        path: the file, for messages.
        lines: its lines.
        quoting: CSV_QUOTES, or LITERAL, which counts rows with cells in CSV quotes in the log.
        warns: whether to log that count.
        all_glued: whether the error about a carriage return inside a line comes at the end and
            counts all such lines.
    """
    # Cells as a tuple, which takes half the memory of a list.
    if quoting == CSV_QUOTES:
        for number, cells in quoted_rows(path, lines, TAB):
            yield Row(number, tuple(cells)) if cells else number
        return
    glued: list[tuple[int, None]] = []
    literal = LiteralRows()
    count = 0
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r\n")
        if "\t" not in line and not line.strip():
            yield number
            continue
        if "\r" in line:
            glued.append((number, None))
            if not all_glued:
                _refuse_glued(path, glued)
        row = Row(number, tuple(line.split("\t")))
        count += 1
        if '"' in line or literal.needs_next:
            literal.add(number, line, row.cells)
        yield row
    if warns:
        literal.warn(path, count)
    _refuse_glued(path, glued)


def _refuse_glued(path: str, glued: Sequence[tuple[int, None]]) -> None:
    # Counted over the whole file: one such line is a slip, and all lines mean another line end.
    advice = "remove it, or save the file with \\n line ends"
    refuse_rows(path, glued, lambda _: "a carriage return inside the line", advice)


def separator_in(rows: Sequence[Row]) -> str | None:
    """Return the name of the delimiter that every row of one cell holds, or None."""
    return next((name for sign, name in DELIMITER_NAMES.items() if all(sign in row.cells[0] for row in rows)), None)
