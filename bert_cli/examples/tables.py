"""Files of tab-separated rows; how to distinguish a header row from data.

In them `"` is an ordinary character unless --quoting=csv is given.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import is_number
from bert_cli.base.lines import open_lines, refuse_nul
from bert_cli.base.messages import quote
from bert_cli.base.recoding import UTF_8
from bert_cli.examples.table_files.column_names import LABEL_COLUMN_NAMES
from bert_cli.examples.table_files.delimited import separator_in, tab_rows
from bert_cli.examples.table_files.quoting import ADVICE, would_mend
from bert_cli.examples.table_files.rows import Row, refuse_rows, without_blank_lines
from bert_cli.settings.data import PLAIN, TextForm


def find_column(name: str, names: Sequence[str], width: int) -> int | None:
    """The column of a table of `width` columns that a flag names, by its name in the header or its
    number; None where there is none.
    """
    # A name before a number: columns may be called 0, 1, 2 in another order.
    if names.count(name) == 1:
        return names.index(name)
    return int(name) if name.isdecimal() and int(name) < width else None


def read_rows(path: str, form: TextForm = PLAIN) -> list[Row]:
    r"""The rows of a tab-separated UTF-8 file; see tab_rows and without_blank_lines.

    Lines end at `\n` only, so U+2028, U+0085, `\x0b` and `\x0c` are ordinary characters; carriage
    returns at the end of a line are dropped. Raises InputError for a file without any row, and for
    a carriage return inside a line: the original refuses it too, and it mostly means that two rows
    are glued together.
    """
    with open_lines(path, form.encoding) as lines:
        rows = list(without_blank_lines(path, tab_rows(path, refuse_nul(lines, path), form.quoting)))
    if not rows:
        raise InputError(f"{path}: is empty; a file of tab-separated rows is needed")
    return rows


def check_columns(path: str, rows: Sequence[Row], minimum: int, columns: str, encoding: str = UTF_8) -> None:
    """Raise InputError at the first row with fewer than `minimum` cells; `columns` describes the
    wanted ones.
    """
    short = [(row.line, len(row.cells)) for row in rows if len(row.cells) < minimum]
    if not short:
        return
    advice = "put each example on one line, with a tab between the columns"
    if all(len(row.cells) == 1 for row in rows):
        if name := separator_in(rows):
            advice = f"this is a {name}-separated file, save it with tabs"
    elif any('"' in cell for row in rows for cell in row.cells) and _would_mend(path, short[0][0], minimum, encoding):
        advice = ADVICE
    expected = f"expected at least {minimum} tab-separated columns ({columns})"
    refuse_rows(path, short, lambda count: f"{expected}, found {count}", advice)


def _would_mend(path: str, line: int, minimum: int, encoding: str) -> bool:
    """Whether the rows of a file up to `line`, read with CSV quotes, have `minimum` cells each."""
    with open_lines(path, encoding, logs=False) as lines:
        return would_mend(lines, line, lambda width: width >= minimum)


def is_numbering(cells: Sequence[str]) -> bool:
    """True for 0, 1, 2… or 1, 2, 3…, perhaps after an empty cell: the header of a table without
    column names.
    """
    # pandas writes such a header for columns without names, and an empty cell above its index.
    names = list(cells[1:] if cells[0] == "" else cells)
    return len(names) > 1 and any(
        names == [str(number) for number in range(first, first + len(names))] for first in (0, 1)
    )


def holds_column_numbers(first: Row, others: Sequence[Row]) -> bool:
    """Return whether the first row is a header of column numbers, see `is_numbering`.

    pandas writes an empty cell and 0 above the index and the values of a series without a name.
    """
    is_series = list(first.cells) == ["", "0"] and bool(others) and all(row.cell(1) != "0" for row in others)
    return is_series or is_numbering(first.cells)


def is_sentence_like(cell: str) -> bool:
    """True for text that is hardly the name of a column: sentence punctuation at its end, six
    words, or long.
    """
    # The full stop of a quoted sentence is before the quote.
    cell = cell.strip().rstrip("\"'”’»)]")
    if cell.endswith((".", "?", "!", "…", "。", "？", "！")):
        return True
    return len(cell.split()) >= 6 or (len(cell) > 40 and "_" not in cell)


def _id_reason(first: Row, others: Sequence[Row], column: int | None) -> str:
    """Why the id cell of the first row is one id among others; "" where nothing says so."""
    cell = first.cell(column)
    if not cell:
        return ""
    if is_number(cell):
        return f"its id is the number {cell}"
    # A header that comes again further down (joined files) must not count as an id that comes
    # again.
    ids = {row.cell(column) for row in others if row.cells != first.cells}
    if cell in ids:
        return f"its id {quote(cell)} is found in other rows too"
    if re.search(r"\d", cell) and re.sub(r"\d+", "0", cell) in {re.sub(r"\d+", "0", other) for other in ids}:
        return f"its id {quote(cell)} is like the ids of other rows"
    return ""


class KeyColumns(NamedTuple):
    """The 0-based columns by which a header is distinguished from data; identifier: of ids."""

    label: int | None
    texts: Sequence[int]
    identifier: int | None = None


def data_reason(first: Row, others: Sequence[Row], labels: Collection[str], columns: KeyColumns) -> str:
    """Why the first row of a file looks like data rather than a header; "" where it does not.

    Data is a row whose label is a known label or a number, whose id is a number, comes again or has
    the form of other ids (`s-01`, `s-02`), or whose text looks like a sentence. A row of column
    numbers (0, 1, 2…) is a header.
    """
    if is_numbering(first.cells):
        return ""
    cell = first.cell(columns.label)
    if columns.label is not None and (cell in labels or is_number(cell)):
        return f"its label is {quote(cell)}"
    sentences = [text for text in map(first.cell, columns.texts) if is_sentence_like(text)]
    of_text = f"its text is {quote(sentences[0])}" if sentences else ""
    return _id_reason(first, others, columns.identifier) or of_text


def header_reason(first: Row, others: Sequence[Row], labels: Collection[str] | None, columns: KeyColumns) -> str:
    """Why the first row of a file with labels looks like a header rather than data; "" where it
    does not.

    A header has a label cell that is not a number, that no other row has, and that is not among the
    labels. Where these are not known (None), it must be a usual name of a label column, or be above
    numbers only, or be the only label that comes once, over a text of at most three words. A row
    whose id or text looks like data (see `data_reason`) is no header; a row of column numbers (0,
    1, 2…) is one.
    """
    if holds_column_numbers(first, others):
        return "its cells are column numbers"
    cell = first.cell(columns.label)
    texts = [first.cell(column) for column in columns.texts]
    if not cell or is_number(cell) or any(map(is_sentence_like, texts)):
        return ""
    # A header that comes again further down (joined files) says nothing of the labels.
    counts = Counter(row.cell(columns.label) for row in others if row.cells != first.cells)
    if cell in counts or _id_reason(first, others, columns.identifier):
        return ""
    if labels is not None:
        is_header = cell not in labels
    elif cell.strip().lower() in LABEL_COLUMN_NAMES or (counts and all(map(is_number, counts))):
        is_header = True
    else:
        short = all(len(text.split()) <= 3 for text in texts)
        is_header = short and bool(counts) and min(counts.values()) > 1
    return f"its label cell is {quote(cell)}" if is_header else ""
