"""Decision whether the first row of a file is a header, from the signs that a reader finds.

A reader yields signs in its order. The flag decides first, then the first certain sign, and then
the reader's default. A sign that leaves a doubt does not decide. If it contradicts the decision,
the reader asks for the flag, or warns.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from bert_cli.base.formats import is_number, quote
from bert_cli.reading.column_names import LABEL_COLUMN_NAMES, USUAL_NAMES, normalize_name
from bert_cli.reading.rows import Row

AUTO, YES = "auto", "yes"  # values of --header; the third one is no
_MIN_COMMON_LABELS = 10  # other rows with the first row's label


class HeaderSign(NamedTuple):
    """A sign that the first row is a header, or that it is data.

    Attributes:
        is_header: what the sign speaks for.
        doubt: reason for the message if the sign does not decide, "" if it is certain.
    """

    is_header: bool
    doubt: str = ""


class HeaderDecision(NamedTuple):
    """A decision.

    Attributes:
        is_header: whether the first row is a header.
        doubt: reason why the first row may be the opposite, or "".
    """

    is_header: bool
    doubt: str = ""


def decide_header(flag: str, signs: Iterable[HeaderSign], default: bool = False) -> HeaderDecision:
    """Decide whether the first row is a header.

    Args:
        flag: value of --header.
        signs: signs in the file, the strongest first.
        default: the decision without a certain sign.
    """
    is_header = default if flag == AUTO else flag == YES
    for sign in signs:
        if not sign.doubt and flag == AUTO:
            return HeaderDecision(sign.is_header)
        if sign.doubt and sign.is_header != is_header:
            return HeaderDecision(is_header, sign.doubt)
    return HeaderDecision(is_header)


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


def has_common_label(
    first: Row,
    other_rows: Sequence[Row],
    labels: Collection[str],
    label_column: int | None,
) -> bool:
    """Return whether the first row is certainly data: ten other rows have its label.

    Args:
        labels: known labels.
        label_column: 0-based column, or None if the file has no labels.
    """
    cell = first.cell(label_column)
    if label_column is None or cell not in labels or is_numbering(first.cells):
        return False
    return sum(row.cell(label_column) == cell for row in other_rows if row.cells != first.cells) >= _MIN_COMMON_LABELS


def find_unlabeled_header_reason(first: Row, other_rows: Sequence[Row], text: int) -> str:
    """Return a reason why the first row of a file without labels looks like a header, or "".

    Column numbers are a header. A row is data if one of its cells is a number, looks like a
    sentence, or is repeated in its column. Any other row is a header in these cases:
      - a cell is a usual column name, or has only numbers below;
      - its text is one word, and all other texts have several words.

    Args:
        other_rows: all other rows, or a sample.
        text: the text column.
    """
    if has_column_numbers(first, other_rows):
        return "its cells are column numbers"
    # Ignore repeated headers from concatenated files.
    other_rows = [row for row in other_rows if row.cells != first.cells]
    columns = [{row.cell(column).strip() for row in other_rows} - {""} for column in range(len(first.cells))]
    cells = [cell.strip() for cell in first.cells]
    if any(is_number(cell) or is_sentence_like(cell) for cell in cells):
        return ""
    if not columns[text] or any(cell in below for cell, below in zip(cells, columns, strict=True)):
        return ""
    for column, (cell, below) in enumerate(zip(cells, columns, strict=True)):
        is_above_numbers = bool(cell) and bool(below) and all(map(is_number, below))
        if is_above_numbers or normalize_name(cell) in USUAL_NAMES:
            return f"its cell in column {column} is {quote(cell)}"
    if cells[text] and not _has_words(cells[text]) and all(map(_has_words, columns[text])):
        return f"its text is {quote(cells[text])}"
    return ""


def is_wordy(cells: Sequence[str]) -> bool:
    """Return whether most cells have two or more words, or a script without spaces."""
    wordy = sum(map(_has_words, cells))
    return 2 * wordy > len(cells)


def _has_words(cell: str) -> bool:
    words = sum(any(map(str.isalpha, word)) for word in cell.split())
    return words > 1 or sum(unicodedata.category(character) == "Lo" for character in cell) >= 4
