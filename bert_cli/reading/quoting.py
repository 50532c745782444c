"""Reader for CSV quotes and others, and detection of CSV quotes in tab-separated files.

CSV writers, such as pandas' to_csv, put a cell into quotes if it contains a separator, a line end
or a quote, and double the quotes inside. Quotes that belong to a text are not doubled.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.reading.open_quotes import MultiLineRowCheck

TAB, CSV_QUOTE = "\t", '"'
ADVICE = "cells in CSV quotes are read with --quoting=csv"
_MAX_CELL_LENGTH = 1 << 27  # characters; csv's default of 131,072 is too low for real files
_NUMBER = re.compile(r"[-+.\deE]*")  # also matches an empty cell


def read_quoted_rows(
    path: str,
    lines: Iterable[str],
    delimiter: str,
    first_line: int = 1,
    multi_line: MultiLineRowCheck | None = None,
    skips_spaces: bool = False,
) -> Iterator[tuple[int, list[str]]]:
    """Yield each row's first line number and cells; a blank line is a row without cells.

    A cell in quotes may contain delimiters, line ends and doubled quotes.

    Args:
        path: the file, for messages.
        lines: lines with line ends.
        delimiter: the character between cells.
        first_line: number of the first line in `lines`.
        multi_line: collector for rows that span several lines, or None.
        skips_spaces: whether spaces at the start of a cell are left out, so that a quote may
            follow.

    Raises:
        InputError: a quote is not closed or not doubled.
    """
    csv.field_size_limit(_MAX_CELL_LENGTH)
    delimiter_text = repr(delimiter)
    advice = f"columns are divided by {delimiter_text}{advise_literal(delimiter)}"
    # Be strict: otherwise, a cell with an unclosed quote would contain the rest of the file.
    row_lines: list[str] = []
    recorded_lines = lines if multi_line is None else _record_lines(lines, row_lines)
    reader = csv.reader(recorded_lines, delimiter=delimiter, strict=True, skipinitialspace=skips_spaces)
    start = first_line
    try:
        for cells in reader:
            # Treat a line with only white space as blank, as in literal files.
            is_blank = delimiter == TAB and len(cells) == 1 and cells[0].isspace()
            yield start, [] if is_blank else cells
            if multi_line is not None:
                if len(row_lines) > 1:
                    multi_line.add(start, row_lines, delimiter)
                row_lines.clear()
            start = reader.line_num + first_line
    except csv.Error as error:
        if "end of data" in str(error) or "field larger" in str(error):
            raise InputError(
                f"{path}:{start}: a quote that opens in this row is not closed; double it, or close it; {advice}"
            ) from None
        location = f"{path}:{reader.line_num + first_line - 1}"
        if "new-line character" in str(error):
            raise InputError(
                f"{location}: a carriage return inside the line; remove it, or save the file with \\n line ends"
            ) from None
        # Python's message contains the delimiter, which may be a tab.
        problem = str(error).replace(TAB, "\\t")
        raise InputError(
            f"{location}: {problem} (the row begins in line {start}); a quote inside a quoted cell is doubled; {advice}"
        ) from None


def advise_literal(delimiter: str) -> str:
    """Return the end of an error message if a flag reads quotes literally, "" otherwise."""
    return "; --quoting=none reads the file literally" if delimiter == TAB else ""


def _record_lines(lines: Iterable[str], row_lines: list[str]) -> Iterator[str]:
    """Yield lines, and append each one to the lines of the row that is being read."""
    for line in lines:
        row_lines.append(line)
        yield line


def do_csv_quotes_fit(
    lines: Iterable[str],
    last_line: int,
    is_valid: Callable[[int], bool],
) -> bool:
    """Return whether CSV quoting gives all rows in a tab-separated file a valid number of cells.

    Args:
        lines: lines of the file.
        last_line: number of the last line to read.
        is_valid: function that tests a number of cells.
    """
    try:
        for start, cells in read_quoted_rows("", lines, TAB):
            if start > last_line:
                return True
            if cells and not is_valid(len(cells)):
                return False
    except InputError:
        return False
    return True


class QuotedRowCounter:
    """Counter for rows with CSV quotes in a tab-separated file that is read literally.

    A row has CSV quotes in these cases:
      - a cell begins with a quote, and its other quotes are doubled or at its end;
      - it has more cells than the first row, but CSV quoting makes the numbers equal;
      - its last cell opens a quote, and it or the next row has fewer cells than the first row.

    All rows have CSV quotes if each cell in the file is in quotes or a number, as written by
    Python's csv module with QUOTE_ALL or QUOTE_NONNUMERIC.

    Attributes:
        needs_next: whether `add` must be called for the next row even if it has no quote.
    """

    def __init__(self) -> None:
        self.needs_next = True
        self._first_line = 0  # line of the first row
        self._width = 0  # number of cells in the first row
        self._count = 0
        self._example_line = 0  # line of the first row with CSV quotes
        self._open_line = 0  # line of the previous row if its last cell opens a quote
        self._num_fully_quoted = 0
        self._has_quoted_pair = False

    def add(self, line: int, text: str, cells: Sequence[str]) -> None:
        """Add a row.

        Args:
            line: its line number.
            text: its cells, joined by tabs.
        """
        # Return early for quotes inside a cell, which are usual in texts.
        if not (self.needs_next or '\t"' in text or text.startswith('"')):
            return
        self._first_line = self._first_line or line
        self._width = self._width or len(cells)
        is_short = len(cells) < self._width
        if self._open_line and is_short:
            self._count_row(self._open_line)
        with_quote = [cell for cell in cells if cell.startswith('"')]
        is_open = cells[-1].startswith('"') and cells[-1].count('"') % 2 == 1
        is_split = len(cells) > self._width and self._would_fit(text)
        has_csv_quotes = is_split or (is_open and is_short) or any(map(_has_doubled_quotes, with_quote))
        if has_csv_quotes:
            self._count_row(line)
        self.needs_next = is_open and not has_csv_quotes
        self._open_line = line if self.needs_next else 0
        num_quoted = sum(map(_is_quoted, with_quote))
        num_numbers = sum(_NUMBER.fullmatch(cell) is not None for cell in cells) if num_quoted else 0
        if num_quoted and num_quoted + num_numbers == len(cells):
            self._num_fully_quoted += 1
            self._has_quoted_pair |= num_quoted > 1

    def _count_row(self, line: int) -> None:
        self._count += 1
        self._example_line = self._example_line or line

    def _would_fit(self, text: str) -> bool:
        """Return whether CSV quoting gives a row the first row's number of cells."""
        return do_csv_quotes_fit([text], 1, lambda width: width == self._width)

    def warn(self, path: str, num_rows: int) -> None:
        """Log a warning if rows have CSV quotes; `num_rows` is the total number of rows."""
        # Unless a row has two quoted cells, for example the header, all texts may be quotations.
        is_all = self._has_quoted_pair and self._num_fully_quoted == num_rows
        count = num_rows if is_all else self._count
        if count:
            LOG.warning(
                "%s: warning: %d row%s cells in CSV quotes, such as line %d; they are read "
                "literally, as run_classifier.py does; --quoting=csv reads them as pandas wrote "
                "them",
                path, count, " has" if count == 1 else "s have", self._first_line if is_all else self._example_line,
            )  # fmt: skip


def _is_quoted(cell: str) -> bool:
    """Return whether a cell that begins with a quote ends with one, with doubled quotes inside."""
    return len(cell) > 1 and cell.endswith('"') and '"' not in cell[1:-1].replace('""', "")


def _has_doubled_quotes(cell: str) -> bool:
    """Return whether a cell that begins with a quote has doubled quotes and no other quotes.

    A quote at the end is allowed.
    """
    rest = cell[1:]
    return '""' in rest and '"' not in rest.replace('""', "").removesuffix('"')


class QuoteStyle(NamedTuple):
    """Quotes around cells that the csv module does not read: “cheap, and fast”,1.

    A cell in such quotes is on one line, unless they are CSV's quotes with spaces next to them.

    Attributes:
        name: description for messages.
        opening, closing: the marks.
        can_double: whether two closing marks mean one in a cell.
    """

    name: str
    opening: str
    closing: str
    can_double: bool = False

    @property
    def skips_spaces(self) -> bool:
        """Return whether to skip spaces next to CSV's quotes and before other cells."""
        return self.opening == CSV_QUOTE

    def rewrite(self, lines: Iterable[str], delimiter: str) -> Iterator[str]:
        """Yield the lines with CSV's quotes around the cells that have this style's quotes.

        Spaces after a closing quote are left out.
        """
        end = re.compile(rf"[ \t]*+(?={re.escape(delimiter)}|[\r\n]*+\Z)")
        is_inside = False  # a cell in CSV's quotes that spans lines
        for line in lines:
            if not is_inside and self.opening not in line and CSV_QUOTE not in line:
                yield line
                continue
            parts, position, has_close = [], 0, True
            while position < len(line):
                content = position if is_inside else _skip_blanks(line, position)
                if is_inside or line.startswith(CSV_QUOTE, content if self.skips_spaces else position):
                    close = _find_close(end, CSV_QUOTE, line, content + (not is_inside), True)
                    is_inside = close is None
                    parts.append(line[content:] if close is None else line[content : close[0] + 1])
                    position = len(line) if close is None else close[1]
                elif has_close and line.startswith(self.opening, content):
                    close = _find_close(end, self.closing, line, content + 1, self.can_double)
                    has_close = close is not None
                    if close is not None:
                        text = line[content + 1 : close[0]]
                        text = text.replace(2 * self.closing, self.closing) if self.can_double else text
                        parts.append(CSV_QUOTE + text.replace(CSV_QUOTE, 2 * CSV_QUOTE) + CSV_QUOTE)
                        position = close[1]
                following = line.find(delimiter, position)
                start, position = position, len(line) if following < 0 else following + len(delimiter)
                parts.append(line[start:position])
            yield "".join(parts)


def _skip_blanks(line: str, position: int) -> int:
    """Return the position of the first character that is no space or tab."""
    while position < len(line) and line[position] in " \t":
        position += 1
    return position


def _find_close(end: re.Pattern[str], mark: str, line: str, position: int, can_double: bool) -> tuple[int, int] | None:
    """Return the positions of a cell's closing mark and of the text after it, or None.

    Args:
        end: pattern of the text between a closing mark and the next cell.
        mark: the closing mark.
        position: first position in the cell.
        can_double: whether an even number of marks is text.
    """
    # Take all marks of a run together: a long run must not take quadratic time.
    while (first := line.find(mark, position)) >= 0:
        position = first
        while line.startswith(mark, position):
            position += 1
        is_closing = not can_double or (position - first) % 2 == 1
        if is_closing and (following := end.match(line, position)):
            return position - 1, following.end()
    return None


# A text may be a quotation, or begin with an apostrophe, so these need evidence.
QUOTE_STYLES = (QuoteStyle("curly quotes", "“", "”"), QuoteStyle("single quotes", "'", "'", True))
SPACED_QUOTES = QuoteStyle("quotes next to spaces", CSV_QUOTE, CSV_QUOTE, True)
