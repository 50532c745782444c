"""Detection of a table file's format, used by all commands.

The suffix distinguishes text, JSON, workbooks and columnar files. The content decides about the
rest: Excel's "sep=" line, the delimiter, the JSON layout, and gzip. Unusual results are logged.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import quote
from bert_cli.base.log import LOG
from bert_cli.reading.delimited import DELIMITER_NAMES, Delimited, find_delimited, find_separator_name
from bert_cli.reading.exports.cells import MemberColumns, split_path
from bert_cli.reading.exports.fasttext import are_labeled_lines, read_labeled_lines
from bert_cli.reading.formats import CSV, FEATHER, FORMATS, JSON, PARQUET, TEXTS, WORKBOOK, find_format, is_text_format
from bert_cli.reading.frames import Frame, read_columnar, read_workbook
from bert_cli.reading.json_tables import JsonTable, find_json
from bert_cli.reading.open_quotes import MultiLineRowCheck
from bert_cli.reading.quoting import ADVICE, TAB, advise_literal, do_csv_quotes_fit
from bert_cli.reading.rows import LeftOutRows, Row, skip_blank_lines
from bert_cli.reading.source import Source
from bert_cli.settings.data import PLAIN, TextForm

_HEAD = 200  # lines used to detect the delimiter
TableLayout = Delimited | JsonTable | Frame
# Readers by format, from the open file and --sheet; the other formats are delimited text.
READERS: dict[str, Callable[[Source, str | None], TableLayout]] = {
    JSON: lambda source, _: find_json(source),
    WORKBOOK: read_workbook,
    PARQUET: lambda source, _: read_columnar(source, PARQUET),
    FEATHER: lambda source, _: read_columnar(source, FEATHER),
}


@dataclass(frozen=True)
class TableFile:
    """A table and its layout.

    Attributes:
        path: the file, or a name for a table in memory.
        layout: layout or contents.
        source: the open file, None for a table in memory.
        paths: members of nested values that are further columns, such as data.text.
        unread: an export's members without a column.
    """

    path: str
    layout: TableLayout
    source: Source | None = None
    paths: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def has_names(self) -> bool:
        """Return whether the format always has column names, so --header is not used."""
        return self.layout.names is not None

    @property
    def is_text_list(self) -> bool:
        """Return whether a table with one column is a list of texts, because it is a .txt file."""
        return bool(self.layout.delimiter) and find_format(self.path) == TEXTS

    def with_paths(self, flag_columns: Sequence[str]) -> "TableFile":
        """Return the table with a column for each flag value that is a path, see `MemberColumns`.

        Only paths that a record has become columns.
        """
        names = self.layout.names or ()
        paths = [path for path in flag_columns if path not in names and split_path(path, names)]
        table = replace(self, paths=tuple(dict.fromkeys(paths)))
        if not paths:
            return self
        absent = set(table.paths)
        for row in itertools.islice(table.filled_rows(warns=False), 1, None):
            absent -= {path for path, cell in zip(table.paths, row.cells[len(names) :], strict=True) if cell}
            if not absent:
                break
        return replace(self, paths=tuple(path for path in table.paths if path not in absent))

    def rows(self, warns: bool = True, unread: dict[str, None] | None = None) -> Iterator[Row]:
        """Yield rows and blank lines in order.

        Args:
            warns: see `_read_rows`.
            unread: collector for nested members without a column, by path.
        """
        if unread is not None:
            unread |= dict.fromkeys(self.unread)
        rows = self._read_rows(warns)
        if not self.paths:
            yield from rows
            return
        header = next(rows)
        columns = MemberColumns(self.paths, header.cells)
        yield Row(header.line, [*header.cells, *self.paths])
        for row in rows:
            members, unused = columns.read(row.cells)
            if unread is not None:
                unread |= unused
            yield Row(row.line, [*row.cells, *members])

    def _read_rows(self, warns: bool) -> Iterator[Row]:
        """Yield the file's rows and blank lines.

        Text files are read line by line. If the format always has column names, they are the first
        row, with line 0.

        Args:
            warns: whether to log unusual rows; False if the file is read again.

        Raises:
            InputError: a line has invalid bytes, a NUL character or a quote that is not closed, or
                is not a JSON object.
        """
        if isinstance(self.layout, Frame):
            if self.layout.names is not None:
                yield Row(0, list(self.layout.names))
            yield from self.layout.rows
            return
        if isinstance(self.layout, JsonTable):
            yield from self.layout.rows(self.path, self._lines())
            return
        multi_line = MultiLineRowCheck() if warns else None
        yield from self.layout.rows(self.path, self._lines(), warns, multi_line)
        if multi_line:
            rows = self.layout.rows(self.path, self._lines(), warns=False)
            multi_line.check(self.path, rows, advise_literal(self.layout.delimiter))

    def _lines(self) -> Iterator[str]:
        return self.source.lines() if self.source else iter(())

    def filled_rows(
        self, warns: bool = True, left_out: list[LeftOutRows] | None = None, unread: dict[str, None] | None = None
    ) -> Iterator[Row]:
        """Yield the rows without blank lines.

        Args:
            warns, unread: see `rows`.
            left_out: list that gets the blank lines.
        """
        return skip_blank_lines(self.rows(warns, unread), left_out)

    def check_width(self, row: Row, width: int) -> None:
        """Raise InputError for a row with more or fewer cells than the first row."""
        count = len(row.cells)
        if count == width:
            return
        problem, advice = "", "complete the row"
        num_line_ends = max(cell.count("\n") for cell in row.cells) if self.layout.delimiter else 0
        if num_line_ends:
            problem = f": a quote opens a cell of {num_line_ends + 1} lines"
            advice = "if the quote belongs to the text, double it and put the text into quotes"
        elif self._do_csv_quotes_fit(row.line, width):
            advice = ADVICE
        elif count > width:
            delimiter = self.layout.delimiter or TAB
            has_quotes = delimiter != TAB
            problem = f": {quote(row.cells[width])} is after a {DELIMITER_NAMES.get(delimiter, delimiter)} too many"
            advice = "put the text into quotes" if has_quotes else "replace it by a space"
        raise InputError(f"{self.path}:{row.line}: {count} columns where the first row has {width}{problem}; {advice}")

    def advise_separator(self, rows: Sequence[Row]) -> str:
        """Return advice for a table that needs several columns, but has one cell per row."""
        name = find_separator_name(rows)
        if not self.layout.delimiter:
            return "give each record a text and a label"
        if find_format(self.path) == CSV:
            return f"{name}s separate them, but not as many in every row" if name else "put a comma between them"
        # The file may also be a list of texts with commas, so only ask.
        question = f"if {name}s separate them, let its name end in .csv; else " if name else ""
        return f"{question}put a tab between them"

    def _do_csv_quotes_fit(self, line: int, width: int) -> bool:
        """Return whether CSV quoting gives all rows up to `line` this number of cells."""
        if self.source is None or self.layout.delimiter != TAB or find_format(self.path) == CSV:
            return False
        return do_csv_quotes_fit(self.source.lines(), line, lambda count: count == width)


def open_table(path: str, flag: str, form: TextForm = PLAIN) -> TableFile:
    """Open a table, see `read_layout`.

    Args:
        path: the file.
        flag: flag that gives the path, for messages.
        form: values of --encoding, --quoting and --sheet.

    Raises:
        InputError: the file is missing, its suffix is unknown or does not match its content, or a
            row is invalid.
    """
    find_format(path)
    return read_layout(Source(path, form.encoding, flag), form)


def read_layout(source: Source, form: TextForm = PLAIN) -> TableFile:
    """Detect a table's layout; the rows of JSON, workbooks and columnar files are read already.

    Raise InputError as `open_table` does.
    """
    path = source.name
    table_format = find_format(path)
    is_sheet_wrong = form.sheet is not None and table_format != WORKBOOK
    refuse_if(is_sheet_wrong, f"--sheet={form.sheet}: {path} is not a workbook; leave the flag out")
    if is_text_format(path):
        misnamed = [row.misnamed for row in FORMATS if row.mark and source.head.startswith(row.mark)]
        refuse_if(misnamed, f"{path}: is {misnamed[0] if misnamed else ''}")
    if table_format in READERS:
        return _read_table(source, table_format, form.sheet)
    head = list(itertools.islice(source.lines(), _HEAD))
    is_whole = len(head) < _HEAD
    if head and head[0].startswith("{") and all(line.lstrip().startswith("{") for line in head if line.strip()):
        with contextlib.suppress(InputError):
            table = _read_table(source, JSON)
            LOG.info("%s: holds JSON lines, and is read as these", path)
            return table
    layout = find_delimited(head, is_whole, table_format, form.quoting)
    if are_labeled_lines(head) and (table_format == TEXTS or not all(layout.delimiter in line for line in head)):
        lines = list(read_labeled_lines(path, source.lines()))
        LOG.info("%s: lines of fastText with %d labels", path, sum(len(labels) for _, labels, _ in lines))
        return TableFile(
            path, Frame(("label", "text"), [Row(line, [labels, text]) for line, labels, text in lines]), source
        )
    if layout.has_directive:
        LOG.info("%s:1: %s gives the delimiter, and is not data", path, quote(head[0].strip("\r\n ")))
    elif layout.delimiter != (TAB if table_format != CSV else ","):
        LOG.info("%s: its columns are separated by %ss", path, DELIMITER_NAMES[layout.delimiter])
    if layout.quotes:
        LOG.info("%s: %s are around cells, and not part of them", path, layout.quotes.name)
    return TableFile(path, layout, source)


def read_json_table(source: Source) -> TableFile:
    """Read a file with JSON records, whatever its suffix; raise InputError for another layout."""
    return _read_table(source, JSON)


def _read_table(source: Source, table_format: str, sheet: str | None = None) -> TableFile:
    layout = READERS[table_format](source, sheet)
    if not isinstance(layout, JsonTable):
        return TableFile(source.name, layout, source)
    if layout.description:
        LOG.info("%s: %s", source.name, layout.description)
    return TableFile(source.name, layout, source, unread=layout.unread)
