"""Tables with a word in each row, or a sentence in each row -> TaggingExample records.

Text with commas, semicolons or vertical bars between the cells, workbooks, Parquet and Feather
files. Sentences are divided by a column that numbers them, or by empty rows.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.json_files import to_json
from bert_cli.examples.labels.written_lists import parse_list
from bert_cli.examples.table_files.delimited import DELIMITER_NAMES, Delimited, find_delimited
from bert_cli.examples.table_files.formats import CSV, FEATHER, PARQUET, TSV, WORKBOOK, find_format, is_table
from bert_cli.examples.table_files.frames import Frame
from bert_cli.examples.table_files.json_values import JsonRecord
from bert_cli.examples.table_files.probe import TableFile
from bert_cli.examples.table_files.quoting import TAB, read_quoted_rows
from bert_cli.examples.table_files.rows import Row
from bert_cli.examples.tagging import TABLE, TaggingExample, TaggingFile
from bert_cli.examples.token_files.columns import DOCUMENT_START, examples_of, split_columns
from bert_cli.examples.token_files.flags import TokenFlags
from bert_cli.examples.token_files.json_records import Records, file_of_records
from bert_cli.examples.token_files.layout import Columns, find_layout, sentences_of
from bert_cli.settings.data import CSV_QUOTES, LITERAL, TextForm

_HEAD = 200  # lines that decide about a "sep=" line and the usual sign of a .csv file
_BINARY = (WORKBOOK, PARQUET, FEATHER)


def is_packed_table(path: str) -> bool:
    """Return whether the suffix of a file's name names a table that is not plain text."""
    return is_table(path) and (find_format(path) in _BINARY or path.lower().endswith(".gz"))


def find_table(path: str, lines: Sequence[str], flags: TokenFlags) -> TableFile | None:
    """Return the table of a text file whose cells are divided by other signs than tabs and spaces.

    None for a file in columns: one with a tab, or with as many columns between spaces in every row.
    """
    form = TextForm(flags.encoding)
    is_csv = is_table(path) and find_format(path) == CSV
    text = [f"{line}\n" for line in lines]
    layout = find_delimited(text[:_HEAD], len(text) <= _HEAD, CSV if is_csv else TSV, LITERAL)
    if not layout.has_directive:
        if any(TAB in line for line in lines) or _have_columns(lines):
            return None
        sign = _delimiter(text)
        # A row with a cell too many is a mistake in a file that is named .csv.
        sign = sign or (layout.delimiter if is_csv and layout.delimiter in lines[0] else "")
        if not sign:
            return None
        layout = Delimited(sign, CSV_QUOTES)
    sign = DELIMITER_NAMES.get(layout.delimiter, layout.delimiter)
    flags.log("%s: read as a table with a %s between cells", path, sign)
    return TableFile(path, layout, form)


def _have_columns(lines: Sequence[str]) -> bool:
    widths = {len(split_columns(line.rstrip("\r"))) for line in lines if line.strip() and not line.startswith("#")}
    return len(widths) == 1 and widths.pop() > 1


def _delimiter(lines: Sequence[str]) -> str:
    """Return the sign that divides every row into as many cells, two or more; "" if none does."""
    for sign in (",", ";", "|"):
        try:
            widths = [len(cells) for _, cells in read_quoted_rows("", lines, sign) if cells]
        except InputError:
            continue
        if len(widths) > 1 and len(set(widths)) == 1 and widths[0] > 1:
            return sign
    return ""


def read_table(table: TableFile, flags: TokenFlags) -> TaggingFile:
    """Return the sentences of a table. Raise InputError as read_columns, and for rows of
    different widths.
    """
    path = table.path
    rows = list(_rows(table))
    needed = "a table with a word and its tag in each row"
    layout = find_layout(path, rows, flags, needed, table.has_names)
    words, columns = layout.words, layout.columns
    if layout.names is not None and _holds_lists(words[0], columns):
        return _records(table, layout.names, words, columns, flags)
    width = len(layout.names or words[0].cells)
    for row in words:
        table.check_width(row, width)
    examples = examples_of(path, sentences_of(layout.rows, columns.sentence), columns, flags)
    numbers = {row.line: number for number, row in enumerate(rows, 1) if isinstance(row, Row)}
    lines = tuple("" if isinstance(row, int) else TAB.join(map(_one_line, row.cells)) for row in rows)
    header = 0 if layout.names is None else numbers[layout.header]
    return TaggingFile(path, lines, tuple(_numbered(example, numbers) for example in examples), TABLE, header=header)


def _rows(table: TableFile) -> Iterator[Row | int]:
    """Yield the rows, and a number for each empty row and each line between documents."""
    is_sheet = isinstance(table.layout, Frame) and not table.has_names
    last = 0
    for row in table.rows():
        if not isinstance(row, Row):
            yield row
            continue
        # A sheet's empty rows are left out of its rows.
        if is_sheet and last and row.line > last + 1:
            yield row.line - 1
        last = row.line
        is_empty = not any(cell.strip() if isinstance(cell, str) else cell for cell in row.cells)
        yield row.line if is_empty or DOCUMENT_START in row.cells else row


def _one_line(cell: str) -> str:
    return re.sub(r"[\t\r\n]+", " ", cell)


def _numbered(example: TaggingExample, numbers: Mapping[int, int]) -> TaggingExample:
    """Return an example with the number of its first row in the table, and the lines of its words
    in the file.
    """
    lines = example.lines or tuple(range(example.line, example.line + len(example.words)))
    return replace(example, line=numbers[example.line], lines=lines)


def _holds_lists(row: Row, columns: Columns) -> bool:
    """Return whether a row holds a sentence: its words, or its tags, are a list."""
    word: Any = row.cell(columns.word)
    # [1] may be a word, and ['Anna'] is a list.
    written = parse_list(word) if isinstance(word, str) else None
    has_words = isinstance(word, tuple) or (written is not None and written.is_certain)
    return has_words or _list_in(row.cell(columns.tag)) is not None


def _list_in(cell: Any) -> tuple[str, ...] | None:
    """Return the list that a cell is or holds as text; None for another cell."""
    if isinstance(cell, tuple):
        return cell
    written = parse_list(cell)
    return written.items if written else None


def _records(
    table: TableFile, names: Sequence[str], rows: Sequence[Row], columns: Columns, flags: TokenFlags
) -> TaggingFile:
    """Return the sentences of a table with a sentence in each row, as JSON has them."""
    word = names[columns.word]
    tag = "" if columns.tag is None else names[columns.tag]
    records = []
    for row in rows:
        record: dict[str, Any] = dict(zip(names, row.cells, strict=False))
        record[word] = _words(record.get(word, ""))
        if tag:
            record[tag] = _tags(record.get(tag, ""))
        records.append(JsonRecord(row.line, record))
    features = _features(table.path) if table.path.lower().endswith((".parquet", ".pq")) else None
    lines = [to_json(record.value) for record in records]
    content = Records(lines, list(enumerate(records, 1)), features)
    return file_of_records(table.path, content, flags._replace(word_column=word, tag_column=tag or None))


def _words(cell: Any) -> list[str]:
    words = _list_in(cell)
    return cell.split() if words is None else list(words)


def _tags(cell: Any) -> list[str | int]:
    return [int(tag) if re.fullmatch("-?[0-9]+", tag) else tag for tag in _words(cell)]


def _features(path: str) -> Any:
    """Return the features that Hugging Face's datasets writes into a Parquet file; None without
    them.
    """
    import pyarrow.parquet

    metadata = pyarrow.parquet.read_schema(files.make_local(path)).metadata or {}
    try:
        return json.loads(metadata.get(b"huggingface", b"{}"))["info"]["features"]
    except (ValueError, KeyError, TypeError):
        return None
