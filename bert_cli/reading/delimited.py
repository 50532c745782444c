"""Reader for text files that use tabs, commas, semicolons or vertical bars between cells.

TSV has no quoting, as in Google's files, unless --quoting=csv is given. CSV has quoting: a quoted
cell may contain delimiters, line ends and doubled quotes. CSV is read with Python's csv module,
because pandas completes short rows and does not report their lines.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from bert_cli.base.errors import InputError
from bert_cli.reading.column_names import has_usual_names
from bert_cli.reading.formats import CSV
from bert_cli.reading.open_quotes import MultiLineRowCheck
from bert_cli.reading.quoting import QUOTE_STYLES, SPACED_QUOTES, TAB, QuotedRowCounter, QuoteStyle, read_quoted_rows
from bert_cli.reading.rows import Row, refuse_rows
from bert_cli.settings.data import CSV_QUOTES, LITERAL

DELIMITER_NAMES = {",": "comma", ";": "semicolon", TAB: "tab", "|": "vertical bar"}
# Excel's directive "sep=;" may be in quotes, and delimiters for empty cells may follow.
_DIRECTIVE = re.compile(r'"?sep=(.)"?\1*\s*', re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Delimited:
    """Layout of a delimited text file.

    Attributes:
        delimiter: the character between cells.
        quoting: CSV_QUOTES, or LITERAL if quotes are ordinary characters.
        has_directive: whether line 1 is the directive "sep=…".
        quotes: quotes around cells that the csv module does not read, or None.
    """

    delimiter: str = TAB
    quoting: str = LITERAL
    has_directive: bool = False
    quotes: QuoteStyle | None = None
    names: ClassVar[None] = None  # the first row may have them

    def rows(
        self, path: str, lines: Iterable[str], warns: bool = True, multi_line: MultiLineRowCheck | None = None
    ) -> Iterator[Row]:
        """Yield rows and blank lines.

        Args:
            path: the file, for messages.
            lines: all lines of the file.
            warns: whether to warn about rows with CSV quotes that are read literally.
            multi_line: collector for rows that span several lines, or None.

        Raises:
            InputError: a quote is not closed, or a literal line contains a carriage return.
        """
        if self.quoting == LITERAL:
            yield from read_tab_rows(path, lines, LITERAL, warns, counts_joined=False)
            return
        first_line = 1
        if self.has_directive:
            lines = itertools.islice(lines, 1, None)
            first_line = 2
        # Use tuples, which need half the memory of lists.
        rows = _read_rows(path, lines, self.delimiter, self.quotes, first_line, multi_line)
        for number, cells in rows:
            yield Row(number, tuple(cells))


def _read_rows(
    path: str,
    lines: Iterable[str],
    delimiter: str,
    quotes: QuoteStyle | None,
    first_line: int = 1,
    multi_line: MultiLineRowCheck | None = None,
) -> Iterator[tuple[int, list[str]]]:
    """Yield rows as `read_quoted_rows` does, using another quote style if it is given."""
    if quotes is None:
        return read_quoted_rows(path, lines, delimiter, first_line, multi_line)
    rewritten = quotes.rewrite(lines, delimiter)
    return read_quoted_rows(path, rewritten, delimiter, first_line, multi_line, quotes.skips_spaces)


def find_delimited(
    head: Sequence[str],
    is_whole: bool,
    table_format: str,
    quoting: str,
) -> Delimited:
    """Detect the layout of a delimited file from its first lines.

    The suffix's usual delimiter is used if all rows have the same number of cells, at least two.
    Otherwise, the first other delimiter with this property is used. If the file is not named .csv,
    the first row must also have usual column names, because texts may contain commas.

    Args:
        head: first lines with line ends.
        is_whole: whether `head` is the whole file.
        table_format: CSV, TSV or TEXTS, by the file's suffix.
        quoting: value of --quoting, used for tab-separated files that are not named .csv.
    """
    directive = _DIRECTIVE.fullmatch(head[0]) if head else None
    if directive:
        return Delimited(directive[1], CSV_QUOTES, has_directive=True)
    first = head[0] if head else ""
    if table_format == CSV:
        # Spreadsheets write semicolons in countries with decimal commas.
        delimiter = ";" if first.count(";") > first.count(",") else ","
        width = _find_width(head, delimiter, is_whole)
        if _has_spaced_quotes(head, delimiter, is_whole, width):
            return Delimited(delimiter, CSV_QUOTES, quotes=SPACED_QUOTES)
        if width < 2:
            for style in QUOTE_STYLES:
                is_other = list(style.rewrite(head, delimiter)) != list(head)
                if is_other and _find_width(head, delimiter, is_whole, style) > 1:
                    return Delimited(delimiter, CSV_QUOTES, quotes=style)
            candidates = [candidate for candidate in (TAB, ";", "|", ",") if candidate != delimiter]
            fitting = [
                candidate for candidate in candidates if len(head) > 1 and _find_width(head, candidate, is_whole) > 1
            ]
            delimiter = next(iter(fitting), delimiter)
        return Delimited(delimiter, CSV_QUOTES)
    if not any(TAB in line for line in head):
        for delimiter in (",", ";", "|"):
            if _find_width(head, delimiter, is_whole) > 1 and has_usual_names(
                next(read_quoted_rows("", head, delimiter))[1]
            ):
                return Delimited(delimiter, CSV_QUOTES)
    return Delimited(TAB, quoting)


def _has_spaced_quotes(head: Sequence[str], delimiter: str, is_whole: bool, width: int) -> bool:
    """Return whether cells are in quotes with spaces next to them, as in `1, "so, so" ,good`.

    Args:
        head, is_whole: see `find_delimited`.
        width: number of cells per row if such quotes are part of cells, 0 if rows differ.
    """
    if list(SPACED_QUOTES.rewrite(head, delimiter)) == list(head):
        return False
    new_width = _find_width(head, delimiter, is_whole, SPACED_QUOTES)
    if width < 2:
        return new_width > 1
    # A cell in CSV's quotes may have such quotes inside.
    rows, _ = _read_head(head, delimiter)
    has_quoted_cell = any(re.fullmatch(r' +"[^"]*+(?:""[^"]*+)*+" *', cell) for cells in rows for cell in cells)
    return new_width == width and has_quoted_cell


def _find_width(head: Sequence[str], delimiter: str, is_whole: bool, quotes: QuoteStyle | None = None) -> int:
    """Return the number of cells per row, or 0 if rows differ or are not valid CSV."""
    rows, is_valid = _read_head(head, delimiter, quotes)
    # The last row in the excerpt may end inside a quoted cell.
    if not is_valid and (is_whole or not rows):
        return 0
    if is_valid and not is_whole and len(rows) > 1:
        rows = rows[:-1]
    widths = {len(cells) for cells in rows if cells}
    return widths.pop() if len(widths) == 1 else 0


def _read_head(head: Sequence[str], delimiter: str, quotes: QuoteStyle | None = None) -> tuple[list[list[str]], bool]:
    """Return the rows up to the first one that is not valid CSV, and whether all are valid."""
    rows = []
    try:
        for _, cells in _read_rows("", head, delimiter, quotes):
            rows.append(cells)
    except InputError:
        return rows, False
    return rows, True


def read_tab_rows(
    path: str,
    lines: Iterable[str],
    quoting: str,
    warns: bool = True,
    counts_joined: bool = True,
    multi_line: MultiLineRowCheck | None = None,
) -> Iterator[Row]:
    """Yield a tab-separated file's rows and blank lines.

    Args:
        path: the file, for messages.
        quoting: CSV_QUOTES or LITERAL.
        warns: whether to warn about rows with CSV quotes if they are read literally.
        counts_joined: whether the error about carriage returns inside lines counts all such lines.
            If so, it is raised at the end of the file.
        multi_line: see `Delimited.rows`.
    """
    # Use tuples, which need half the memory of lists.
    if quoting == CSV_QUOTES:
        for number, cells in read_quoted_rows(path, lines, TAB, multi_line=multi_line):
            yield Row(number, tuple(cells))
        return
    joined: list[tuple[int, None]] = []
    literal = QuotedRowCounter()
    count = 0
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r\n")
        if "\t" not in line and not line.strip():
            yield Row(number, ())
            continue
        if "\r" in line:
            joined.append((number, None))
            if not counts_joined:
                _refuse_joined(path, joined)
        row = Row(number, tuple(line.split("\t")))
        count += 1
        if '"' in line or literal.needs_next:
            literal.add(number, line, row.cells)
        yield row
    if warns:
        literal.warn(path, count)
    _refuse_joined(path, joined)


def _refuse_joined(path: str, joined: Sequence[tuple[int, None]]) -> None:
    # The error's count matters: one such line is a slip, many mean that line ends are "\r".
    advice = "remove it, or save the file with \\n line ends"
    refuse_rows(path, joined, lambda _: "a carriage return inside the line", advice)


def find_separator_name(rows: Sequence[Row]) -> str | None:
    """Return the name of the delimiter that occurs in all rows' only cell, or None."""
    return next(
        (name for delimiter, name in DELIMITER_NAMES.items() if all(delimiter in row.cells[0] for row in rows)), None
    )
