"""Reader of tab-separated files, and tests of whether a first row is a header or data.

The character `"` has no special meaning unless --quoting=csv is given.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import is_number, quote
from bert_cli.reading.column_names import LABEL_COLUMN_NAMES
from bert_cli.reading.delimited import find_separator_name, read_tab_rows
from bert_cli.reading.open_quotes import MultiLineRows
from bert_cli.reading.quoting import ADVICE, TAB, advise_literal, do_csv_quotes_fit
from bert_cli.reading.rows import Row, refuse_rows, skip_blank_lines
from bert_cli.reading.source import Source
from bert_cli.settings.data import LITERAL


def find_column(name: str, names: Sequence[str], width: int) -> int | None:
    """Return the column index for a flag value, or None.

    Args:
        name: flag value: a column name, or a 0-based number.
        names: column names in the header.
        width: number of columns.
    """
    # Try the name first: columns may have the names 0, 1, 2 in a different order.
    if names.count(name) == 1:
        return names.index(name)
    return int(name) if name.isdecimal() and int(name) < width else None


def read_rows(source: Source, quoting: str = LITERAL) -> list[Row]:
    r"""Return a tab-separated file's rows without blank lines.

    Only `\n` ends a line, so U+2028, U+0085, `\x0b` and `\x0c` are ordinary characters. Carriage
    returns are removed at line ends, and are errors elsewhere: the original rejects them, too,
    because they usually mean that two rows were joined.

    Args:
        source: the file.
        quoting: value of --quoting.

    Raises:
        InputError: the file has no rows, or a carriage return inside a line.
    """
    multi_line = MultiLineRows()
    tab_rows = read_tab_rows(source.name, source.lines(), quoting, multi_line=multi_line)
    rows = list(skip_blank_lines(source.name, tab_rows))
    if not rows:
        raise InputError(f"{source.name}: is empty; a file of tab-separated rows is needed")
    multi_line.check(source.name, rows, advise_literal(TAB))
    return rows


def check_columns(
    source: Source,
    rows: Sequence[Row],
    minimum: int,
    columns: str,
) -> None:
    """Raise InputError for the first row with fewer than `minimum` cells.

    Args:
        source: file with the rows.
        rows: rows to check.
        minimum: smallest valid number of cells.
        columns: description used in the message, for example "id, text".
    """
    short = [(row.line, len(row.cells)) for row in rows if len(row.cells) < minimum]
    if not short:
        return
    advice = "put each example on one line, with a tab between the columns"
    if all(len(row.cells) == 1 for row in rows):
        if name := find_separator_name(rows):
            advice = f"this is a {name}-separated file, save it with tabs"
    elif any('"' in cell for row in rows for cell in row.cells) and do_csv_quotes_fit(
        source.lines(), short[0][0], lambda width: width >= minimum
    ):
        advice = ADVICE
    expected = f"expected at least {minimum} tab-separated columns ({columns})"
    refuse_rows(source.name, short, lambda count: f"{expected}, found {count}", advice)


def is_numbering(cells: Sequence[str]) -> bool:
    """Return whether cells count up from 0 or 1, possibly after an empty cell."""
    # pandas writes such a header for columns without names, with an empty cell above the index.
    names = list(cells[1:] if cells[0] == "" else cells)
    return len(names) > 1 and any(
        names == [str(number) for number in range(first, first + len(names))] for first in (0, 1)
    )


def has_column_numbers(first: Row, other_rows: Sequence[Row]) -> bool:
    """Return whether the first row is a header of column numbers, see `is_numbering`.

    For a series without a name, pandas writes an empty cell above the index and 0 above the values.
    """
    is_series = list(first.cells) == ["", "0"] and bool(other_rows) and all(row.cell(1) != "0" for row in other_rows)
    return is_series or is_numbering(first.cells)


def is_sentence_like(cell: str) -> bool:
    """Return whether a cell is a text rather than a column name.

    It ends like a sentence, has at least six words, or is longer than 40 characters.
    """
    # In a quoted sentence, the period comes before the quote.
    cell = cell.strip().rstrip("\"'”’»)]")
    if cell.endswith((".", "?", "!", "…", "。", "？", "！")):
        return True
    return len(cell.split()) >= 6 or (len(cell) > 40 and "_" not in cell)


def _find_id_reason(first: Row, other_rows: Sequence[Row], column: int | None) -> str:
    """Return a reason why the first row's id cell is an id, not a column name, or ""."""
    cell = first.cell(column)
    if not cell:
        return ""
    if is_number(cell):
        return f"its id is the number {cell}"
    # Ignore repeated headers from concatenated files.
    ids = {row.cell(column) for row in other_rows if row.cells != first.cells}
    if cell in ids:
        return f"its id {quote(cell)} is found in other rows too"
    if re.search(r"\d", cell) and re.sub(r"\d+", "0", cell) in {re.sub(r"\d+", "0", other_id) for other_id in ids}:
        return f"its id {quote(cell)} is like the ids of other rows"
    return ""


class KeyColumns(NamedTuple):
    """0-based columns used to distinguish a header from data.

    Attributes:
        label: the label column, or None.
        texts: the text columns.
        identifier: the id column, or None.
    """

    label: int | None
    texts: Sequence[int]
    identifier: int | None = None


def find_data_reason(
    first: Row,
    other_rows: Sequence[Row],
    labels: Collection[str],
    columns: KeyColumns,
) -> str:
    """Return a reason why the first row looks like data rather than a header, or "".

    The reason is one of:
      - its label is a known label or a number;
      - its id is a number, is repeated, or looks like the other ids (`s-01`, `s-02`);
      - its text looks like a sentence.

    A row of column numbers (0, 1, 2…) is never data.

    Args:
        first: the first row.
        other_rows: all other rows, or a sample.
        labels: known labels.
        columns: columns to look at.
    """
    if is_numbering(first.cells):
        return ""
    cell = first.cell(columns.label)
    if columns.label is not None and (cell in labels or is_number(cell)):
        return f"its label is {quote(cell)}"
    sentences = [text for text in map(first.cell, columns.texts) if is_sentence_like(text)]
    text_reason = f"its text is {quote(sentences[0])}" if sentences else ""
    return _find_id_reason(first, other_rows, columns.identifier) or text_reason


def find_header_reason(
    first: Row, other_rows: Sequence[Row], labels: Collection[str] | None, columns: KeyColumns
) -> str:
    """Return a reason why the first row looks like a header rather than data, or "".

    The reason is a row of column numbers (0, 1, 2…), or a label cell that is neither a number nor a
    label. If the labels are unknown, the cell must also meet one of these conditions:
      - it is a usual label column name;
      - all cells below it are numbers;
      - it is the only label that occurs once, and its texts have at most three words each.

    An id or a text that looks like data (see `find_data_reason`) excludes a header.

    Args:
        first: the first row.
        other_rows: all other rows, or a sample.
        labels: known labels, None if they are unknown.
        columns: columns to look at; the file has labels.
    """
    if has_column_numbers(first, other_rows):
        return "its cells are column numbers"
    cell = first.cell(columns.label)
    texts = [first.cell(column) for column in columns.texts]
    if not cell or is_number(cell) or any(map(is_sentence_like, texts)):
        return ""
    # Ignore repeated headers from concatenated files.
    counts = Counter(row.cell(columns.label) for row in other_rows if row.cells != first.cells)
    if cell in counts or _find_id_reason(first, other_rows, columns.identifier):
        return ""
    if labels is not None:
        is_header = cell not in labels
    elif cell.strip().lower() in LABEL_COLUMN_NAMES or (counts and all(map(is_number, counts))):
        is_header = True
    else:
        short = all(len(text.split()) <= 3 for text in texts)
        is_header = short and bool(counts) and min(counts.values()) > 1
    return f"its label cell is {quote(cell)}" if is_header else ""
