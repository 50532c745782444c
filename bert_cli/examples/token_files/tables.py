"""Reader for tables with a word or a sentence per row, which become TaggingExample records.

Tables are text files with commas, semicolons or vertical bars between cells, workbooks, and Parquet
and Feather files. If rows are words, a column with sentence numbers or empty rows separate the
sentences.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import JsonObject, to_json
from bert_cli.examples.labels.written_lists import parse_list
from bert_cli.examples.tagging import TABLE, TaggingExample, TaggingFile
from bert_cli.examples.token_files.columns import DOCUMENT_START, make_sentence_examples, split_columns
from bert_cli.examples.token_files.flags import TokenFlags
from bert_cli.examples.token_files.json_records import Records, make_file
from bert_cli.examples.token_files.layout import TokenLayout, find_layout, split_sentences
from bert_cli.reading.column_names import normalize_name
from bert_cli.reading.columns.words import TAG_NAMES, WordColumns
from bert_cli.reading.delimited import DELIMITER_NAMES, Delimited, find_delimited
from bert_cli.reading.formats import CSV, TSV, find_format, is_table, is_text_format
from bert_cli.reading.frames import Frame
from bert_cli.reading.probe import TableFile
from bert_cli.reading.quoting import TAB, read_quoted_rows
from bert_cli.reading.records import JsonRecord
from bert_cli.reading.rows import LeftOutRows, Row
from bert_cli.reading.source import Source
from bert_cli.settings.data import CSV_QUOTES, LITERAL

_HEAD = 200  # lines used to detect the delimiter


def is_binary_table(path: str) -> bool:
    """Return whether a file has a suffix of a table format that is not plain text."""
    return is_table(path) and (not is_text_format(path) or path.lower().endswith(".gz"))


def find_table(source: Source, lines: Sequence[str], flags: TokenFlags) -> TableFile | None:
    """Return the layout of a text file with commas or other delimiters, or None for a column file.

    A column file has tabs, or the same number of space-separated columns in every row.

    Args:
        source: the file.
    """
    path = source.name
    is_csv = is_table(path) and find_format(path) == CSV
    text = [f"{line}\n" for line in lines]
    layout = find_delimited(text[:_HEAD], len(text) <= _HEAD, CSV if is_csv else TSV, LITERAL)
    if not layout.has_directive:
        if any(TAB in line for line in lines) or _have_columns(lines):
            return None
        delimiter = _find_delimiter(text)
        # In a .csv file, accept uneven rows: their error should be about the number of cells.
        delimiter = delimiter or (layout.delimiter if is_csv and layout.delimiter in lines[0] else "")
        if not delimiter:
            return None
        layout = Delimited(delimiter, CSV_QUOTES, quotes=layout.quotes if delimiter == layout.delimiter else None)
    delimiter = DELIMITER_NAMES.get(layout.delimiter, layout.delimiter)
    flags.log("%s: read as a table with a %s between cells", path, delimiter)
    return TableFile(path, layout, source)


def _have_columns(lines: Sequence[str]) -> bool:
    widths = {len(split_columns(line.rstrip("\r"))) for line in lines if line.strip() and not line.startswith("#")}
    return len(widths) == 1 and widths.pop() > 1


def _find_delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter that gives all rows the same number of cells, at least two, or ""."""
    for delimiter in (",", ";", "|"):
        try:
            widths = [len(cells) for _, cells in read_quoted_rows("", lines, delimiter) if cells]
        except InputError:
            continue
        if len(widths) > 1 and len(set(widths)) == 1 and widths[0] > 1:
            return delimiter
    return ""


def read_token_table(table: TableFile, flags: TokenFlags) -> TaggingFile:
    """Read a table's sentences.

    Raise InputError as read_columns does, and for rows with different numbers of cells.
    """
    path = table.path
    rows = list(_iterate_rows(table))
    needed = "a table with a word and its tag in each row"
    flags = flags.decide_tags(lambda trial: _has_tags(find_layout(path, rows, trial, needed, table.has_names), trial))
    layout = find_layout(path, rows, flags, needed, table.has_names)
    words, columns = layout.words, layout.columns
    if layout.names is not None and _has_lists(words[0], columns):
        return _read_sentences(table, layout, flags)
    width = len(layout.names or words[0].cells)
    for row in words:
        table.check_width(row, width)
    left_out: list[LeftOutRows] = []
    examples = make_sentence_examples(path, split_sentences(layout.rows, columns.sentence), columns, flags, left_out)
    numbers = {row.line: number for number, row in enumerate(rows, 1)}
    lines = tuple(TAB.join(map(_join_lines, row.cells)) for row in rows)
    header = 0 if layout.names is None else numbers[layout.header]
    numbered = tuple(_number_example(example, numbers) for example in examples)
    return TaggingFile(path, lines, numbered, TABLE, header=header, account=layout.account(path, left_out))


def _has_tags(layout: TokenLayout, flags: TokenFlags) -> bool:
    """Return whether a table has tags; in a table with a sentence per row, tags are lists."""
    if layout.names is None or not _has_lists(layout.words[0], layout.columns):
        return layout.has_tags(flags)
    names = [normalize_name(name) for name in layout.names]
    if flags.rules.tag_name:
        return flags.rules.tag_name in layout.names
    columns = [number for number, name in enumerate(names) if name in TAG_NAMES]
    return any(_read_list(row.cell(number)) is not None for row in layout.words for number in columns)


def _iterate_rows(table: TableFile) -> Iterator[Row]:
    """Yield rows, and blank lines for empty rows and for rows between documents."""
    is_sheet = isinstance(table.layout, Frame) and not table.has_names
    last = 0
    for row in table.rows():
        # read_workbook skips a sheet's empty rows, so detect them by gaps in the numbers.
        if is_sheet and last and row.line > last + 1:
            yield Row(row.line - 1, ())
        last = row.line
        is_empty = not any(cell.strip() if isinstance(cell, str) else cell for cell in row.cells)
        yield Row(row.line, ()) if is_empty or DOCUMENT_START in row.cells else row


def _join_lines(cell: str) -> str:
    return re.sub(r"[\t\r\n]+", " ", cell)


def _number_example(example: TaggingExample, numbers: Mapping[int, int]) -> TaggingExample:
    """Return an example with its row number as `line`, and its words' lines as `lines`.

    Args:
        example: an example with `line` as in the file.
        numbers: row numbers by line.
    """
    lines = example.lines or tuple(range(example.line, example.line + len(example.words)))
    return replace(example, line=numbers[example.line], lines=lines)


def _has_lists(row: Row, columns: WordColumns) -> bool:
    """Return whether a row is a sentence: its word or tag cell is a list."""
    word: Any = row.cell(columns.word)
    # [1] may be a word, but ['Anna'] is a list.
    parsed = parse_list(word) if isinstance(word, str) else None
    has_words = isinstance(word, tuple) or (parsed is not None and parsed.is_certain)
    return has_words or _read_list(row.cell(columns.tag)) is not None


def _read_list(cell: Any) -> tuple[str, ...] | None:
    """Return a cell's list, which may be written as text, or None."""
    if isinstance(cell, tuple):
        return cell
    parsed = parse_list(cell)
    return parsed.items if parsed else None


def _read_sentences(table: TableFile, layout: TokenLayout, flags: TokenFlags) -> TaggingFile:
    """Read a table with a sentence per row, as if rows were JSON records."""
    names, columns = layout.names or [], layout.columns
    word = names[columns.word]
    tag = "" if columns.tag is None else names[columns.tag]
    records = []
    for row in layout.words:
        record: JsonObject = dict(zip(names, row.cells, strict=False))
        record[word] = _split_words(record.get(word, ""))
        if tag:
            record[tag] = _split_tags(record.get(tag, ""))
        records.append(JsonRecord(row.line, record))
    features = (
        _read_features(table.source) if table.source and table.path.lower().endswith((".parquet", ".pq")) else None
    )
    lines = [to_json(record.value) for record in records]
    content = Records(lines, list(enumerate(records, 1)), features)
    return make_file(table.path, content, flags._replace(word_column=word, tag_column=tag or None))


def _split_words(cell: Any) -> list[str]:
    words = _read_list(cell)
    return cell.split() if words is None else list(words)


def _split_tags(cell: Any) -> list[str | int]:
    return [int(tag) if re.fullmatch("-?[0-9]+", tag) else tag for tag in _split_words(cell)]


def _read_features(source: Source) -> Any:
    """Return the features that Hugging Face's datasets library writes into Parquet files, or None."""
    import pyarrow.parquet

    metadata = pyarrow.parquet.read_schema(source.binary()).metadata or {}
    try:
        return json.loads(metadata.get(b"huggingface", b"{}"))["info"]["features"]
    except (ValueError, KeyError, TypeError):
        return None
