"""The probe of a table file: what it is and how its rows are read, found once for every command.

The suffix of a file's name says whether it holds text, JSON, a workbook or columns. The content
says the rest: Excel's "sep=" line, the delimiter, the layout of JSON, gzip. Anything unusual is
logged.
"""

import contextlib
import functools
import gzip
import io
import itertools
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.files import check_readable, open_binary
from bert_cli.base.lines import decode_lines, open_lines, refuse_nul, warn_of_controls
from bert_cli.base.log import LOG
from bert_cli.base.messages import quote
from bert_cli.base.recoding import as_utf8, with_line_feeds
from bert_cli.examples.table_files.delimited import DELIMITER_NAMES, Delimited, find_delimited, separator_in
from bert_cli.examples.table_files.formats import CSV, FEATHER, JSON, PARQUET, TEXTS, WORKBOOK, format_of
from bert_cli.examples.table_files.frames import Frame, read_columnar, read_workbook
from bert_cli.examples.table_files.json_tables import JsonTable, find_json
from bert_cli.examples.table_files.quoting import ADVICE, TAB, would_mend
from bert_cli.examples.table_files.rows import Row, without_blank_lines
from bert_cli.settings.data import PLAIN, TextForm

_HEAD = 200  # lines that decide about the delimiter
_GZIP = b"\x1f\x8b"
# First bytes of files that are no text, and the suffixes with which they are read.
_BINARY = {
    b"PK\x03\x04": "a ZIP file, perhaps a workbook; unpack it, or let the name of a workbook end in .xlsx or .ods",
    b"\xd0\xcf\x11\xe0": "an old workbook; let its name end in .xls",
    b"PAR1": "a Parquet file; let its name end in .parquet",
    b"ARROW1": "a Feather file; let its name end in .feather",
}


@dataclass(frozen=True)
class TableFile:
    """A table, and how its rows are read.

    Attributes:
        path: the file, or the name of a table in memory, for messages.
        layout: the division into rows and cells.
        form: encoding and quoting of a text file.
    """

    path: str
    layout: Delimited | JsonTable | Frame
    form: TextForm = PLAIN

    @property
    def has_names(self) -> bool:
        """Whether the first row holds the names of the columns, whatever --header says."""
        return not isinstance(self.layout, Delimited) and self.layout.names is not None

    @property
    def is_text_list(self) -> bool:
        """Whether a table of one column holds texts without a header, as its name ends in .txt."""
        return isinstance(self.layout, Delimited) and format_of(self.path) == TEXTS

    def rows(self, warns: bool = True) -> Iterator[Row | int]:
        """Yield each row in its order, and for each blank line its number.

        Rows of a text file come as they are read, in bounded memory. The names of the columns, if
        the file has any besides a header, are the first row, with line 0.

        Args:
            warns: whether to log what is unusual in the rows; False if the file is read again.

        Raises:
            InputError: with the line, for bytes that are not of the encoding, NUL characters, a
                quote that is not closed, and a line that is not a JSON object.
        """
        if isinstance(self.layout, Frame):
            if self.layout.names is not None:
                yield Row(0, list(self.layout.names))
            yield from self.layout.rows
            return
        with _open_text(self.path, self.form.encoding, logs=warns) as lines:
            if isinstance(self.layout, JsonTable):
                yield from self.layout.rows(self.path, lines)
            else:
                yield from self.layout.rows(self.path, lines, warns)

    def filled_rows(self, warns: bool = True) -> Iterator[Row]:
        """Yield the rows as `rows` does, without blank lines, which are counted in the log."""
        return without_blank_lines(self.path, self.rows(warns), warns)

    def check_width(self, row: Row, width: int) -> None:
        """Raise InputError for a row with more or fewer cells than the first one has."""
        count = len(row.cells)
        if count == width:
            return
        problem, advice = "", "complete the row"
        if self._would_mend(row.line, width):
            advice = ADVICE
        elif count > width:
            delimiter = self.layout.delimiter if isinstance(self.layout, Delimited) else TAB
            has_quotes = delimiter != TAB
            problem = f": {quote(row.cells[width])} is after a {DELIMITER_NAMES.get(delimiter, delimiter)} too many"
            advice = "put the text into quotes" if has_quotes else "replace it by a space"
        raise InputError(f"{self.path}:{row.line}: {count} columns where the first row has {width}{problem}; {advice}")

    def how_to_separate(self, rows: Sequence[Row]) -> str:
        """Return what to do with a table whose rows were read as one cell each."""
        name = separator_in(rows)
        if not isinstance(self.layout, Delimited):
            return "give each record a text and a label"
        if format_of(self.path) == CSV:
            return f"{name}s separate them, but not as many in every row" if name else "put a comma between them"
        # Each text of a list may have a comma, so this is no more than a question.
        question = f"if {name}s separate them, let its name end in .csv; else " if name else ""
        return f"{question}put a tab between them"

    def _would_mend(self, line: int, width: int) -> bool:
        """Return whether the rows up to `line`, read with CSV quotes, have `width` cells each."""
        if not isinstance(self.layout, Delimited) or self.layout.delimiter != TAB or format_of(self.path) == CSV:
            return False
        with _open_text(self.path, self.form.encoding, logs=False) as lines:
            return would_mend(lines, line, lambda count: count == width)


def open_table(path: str, flag: str, form: TextForm = PLAIN) -> TableFile:
    """Return the table of a file, after a look at its content.

    Args:
        path: the file; its suffix names the format.
        flag: the flag that names the file, for messages.
        form: encoding, quoting and sheet, as the flags have them.

    Raises:
        InputError: for a missing file, an unknown suffix, content of another format than the
            suffix says, and what `rows` refuses.
    """
    table_format = format_of(path)
    check_readable(path, flag)
    if table_format == WORKBOOK:
        return TableFile(path, read_workbook(path, form.sheet), form)
    refuse_if(form.sheet is not None, f"--sheet={form.sheet}: {path} is not a workbook; leave the flag out")
    if table_format in (PARQUET, FEATHER):
        return TableFile(path, read_columnar(path, table_format), form)
    _refuse_binary(path)
    if table_format == JSON:
        return _json_table(path, form)
    with _open_text(path, form.encoding, logs=False) as lines:
        head = list(itertools.islice(lines, _HEAD))
        is_whole = len(head) < _HEAD
    if head and head[0].startswith("{") and all(line.lstrip().startswith("{") for line in head if line.strip()):
        with contextlib.suppress(InputError):
            table = _json_table(path, form)
            LOG.info("%s: holds JSON lines, and is read as these", path)
            return table
    layout = find_delimited(head, is_whole, table_format, form.quoting)
    if layout.has_directive:
        LOG.info("%s:1: %s gives the delimiter, and is not data", path, quote(head[0].strip("\r\n ")))
    elif layout.delimiter != (TAB if table_format != CSV else ","):
        LOG.info("%s: its columns are separated by %ss", path, DELIMITER_NAMES[layout.delimiter])
    return TableFile(path, layout, form)


def _json_table(path: str, form: TextForm) -> TableFile:
    layout = find_json(path, functools.partial(_open_text, path, form.encoding, logs=False))
    if layout.description:
        LOG.info("%s: %s", path, layout.description)
    return TableFile(path, layout, form)


def _refuse_binary(path: str) -> None:
    with open_binary(path) as file:
        head = file.read(8)
    for mark, description in _BINARY.items():
        refuse_if(head.startswith(mark), f"{path}: is {description}")


@contextlib.contextmanager
def _open_text(path: str, encoding: str, logs: bool = True) -> Iterator[Iterator[str]]:
    """Open the lines of a text file, which gzip may have compressed; see `open_lines`."""
    with open_binary(path) as file:
        is_packed = file.peek(2)[:2] == _GZIP
    if not is_packed and not path.lower().endswith(".gz"):
        with open_lines(path, encoding, logs) as lines:
            yield refuse_nul(lines, path)
        return
    with open_binary(path) as file:
        try:
            with gzip.GzipFile(fileobj=file) as unpacked:
                recoded = as_utf8(io.BufferedReader(unpacked), encoding, path)
                lines = decode_lines(with_line_feeds(recoded, path, logs), path)
                yield refuse_nul(warn_of_controls(lines, path) if logs else lines, path)
        # Another format, a file that is cut short, and damaged data, in this order.
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise InputError(f"{path}: is an incomplete gzip file; download or compress it again") from None
