"""A user's own file -> rows, as they come: TSV, CSV, JSON lines and lists of texts, each also
compressed with gzip.

TSV has no quoting, as in Google's files, unless --quoting=csv is given. CSV has quoting: a quoted
cell may hold commas, line ends and doubled quotes. CSV is read by Python's csv, not by pandas,
whose reader fills up rows that are too short and does not report their lines. The keys of the first
JSON object are the names of its columns; a list of names is a cell of several labels.
"""

import contextlib
import gzip
import io
import itertools
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.files import check_readable, open_binary
from bert_cli.base.lines import UTF_8, as_utf8, decode_lines, open_lines, without_nul
from bert_cli.base.log import LOG
from bert_cli.base.messages import quoted
from bert_cli.examples.quoting import ADVICE, quoted_rows, would_mend
from bert_cli.examples.tables import Row, separator_in, tab_rows, without_blank_lines
from bert_cli.settings.data import PLAIN, TextForm

TSV = "tsv"
CSV = "csv"
JSONL = "jsonl"
TEXTS = "txt"
_FORMATS = {"tsv": TSV, "tab": TSV, "csv": CSV, "jsonl": JSONL, "ndjson": JSONL, "json": JSONL, "txt": TEXTS}


def format_of(path: str) -> str:
    """TSV, CSV, JSONL or TEXTS, by the ending of the file's name. InputError for another."""
    ending = path.lower().removesuffix(".gz").rpartition(".")[2]
    if ending not in _FORMATS:
        raise InputError(
            f"{path}: a file that ends in .tsv, .csv, .jsonl or .txt, or in one of these and .gz, is needed"
        )
    return _FORMATS[ending]


def how_to_separate(path: str, rows: Sequence[Row]) -> str:
    """What to do with a table whose rows were read as one cell each."""
    name = separator_in(rows)
    if format_of(path) == CSV:
        return "tabs separate them: let its name end in .tsv" if name == "tab" else "put a comma between them"
    # Each text of a list may have a comma, so this is no more than a question.
    question = f"if {name}s separate them, let its name end in .csv; else " if name else ""
    return f"{question}put a tab between them"


def is_table(path: str) -> bool:
    """Whether the name of a file says that it holds a table: TSV, CSV or JSON lines."""
    _, dot, ending = path.lower().removesuffix(".gz").rpartition(".")
    return bool(dot) and _FORMATS.get(ending, TEXTS) != TEXTS


def refuse_table(path: str) -> None:
    """InputError for a file of texts whose name says that it holds a table."""
    if is_table(path):
        raise InputError(
            f"--input_file={path}: is a table by its name, and one text per line is needed; "
            "write the column of texts into a .txt file"
        )


def is_tab_separated(path: str) -> bool:
    """Whether a file can be in the layout of a task: its name does not say that it is CSV, JSON
    lines or a list of texts.
    """
    return _FORMATS.get(path.lower().removesuffix(".gz").rpartition(".")[2], TSV) == TSV


def read_rows(path: str, flag: str, form: TextForm = PLAIN, warns: bool = True) -> Iterator[Row]:
    """All rows of a file in their order, in bounded memory; `flag` is named where the file is not
    there.

    form: its quoting is CSV_QUOTES or LITERAL, of a file with tabs. If it is LITERAL, rows with
    cells in CSV quotes are counted in a warning. warns: False for a file that is read again.

    The first row of JSON lines holds their names, with line 0. Blank lines are left out and, but
    for those at the end, told. InputError, with the line, for what is not UTF-8, holds a NUL
    character or a carriage return inside a line, for a quote that is not closed, and for what is no
    JSON object. A row with more or fewer cells than the others is the caller's.
    """
    rows_of = {CSV: _csv_rows, JSONL: _json_rows}.get(format_of(path))
    check_readable(path, flag)
    with _open(path, form.encoding) as lines:
        rows = rows_of(path, lines) if rows_of else tab_rows(path, lines, form.quoting, warns, all_glued=False)
        yield from without_blank_lines(path, rows, warns)


def check_width(path: str, row: Row, width: int, encoding: str = UTF_8) -> None:
    """InputError for a row with more or fewer cells than the first one has."""
    found = len(row.cells)
    if found == width:
        return
    problem, advice = "", "complete the row"
    if _would_mend(path, row.line, width, encoding):
        advice = ADVICE
    elif found > width:
        what = "comma" if format_of(path) == CSV else "tab"
        problem = f": {quoted(row.cells[width])} is after a {what} too many"
        advice = "put the text into quotes" if what == "comma" else "replace it by a space"
    raise InputError(f"{path}:{row.line}: {found} columns where the first row has {width}{problem}; {advice}")


def _would_mend(path: str, line: int, width: int, encoding: str) -> bool:
    """Whether the rows of a file up to `line`, read with CSV quotes, have `width` cells each."""
    if format_of(path) not in (TSV, TEXTS):
        return False
    with _open(path, encoding) as lines:
        return would_mend(lines, line, lambda found: found == width)


@contextlib.contextmanager
def _open(path: str, encoding: str) -> Iterator[Iterator[str]]:
    """The lines of a file, decoded; InputError for a .gz that is none, or is cut short."""
    if not path.lower().endswith(".gz"):
        with open_lines(path, encoding) as lines:
            yield without_nul(lines, path)
        return
    with open_binary(path) as file:
        try:
            with gzip.GzipFile(fileobj=file) as unpacked:
                recoded = as_utf8(io.BufferedReader(unpacked), encoding, path)
                yield without_nul(decode_lines(recoded, path), path)
        # Another format, a file that is cut short, and damaged data, in this order.
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise InputError(f"{path}: is an incomplete gzip file; download or compress it again") from None


def _csv_rows(path: str, lines: Iterable[str]) -> Iterator[Row | int]:
    """The rows, and of each blank line its number; so does _json_rows."""
    lines = iter(lines)
    first = next(lines, "")
    # The CSV of spreadsheets in countries where the comma is the decimal separator.
    separator = ";" if first.count(";") > first.count(",") else ","
    if separator == ";":
        LOG.info("%s: its columns are separated by semicolons", path)
    for start, cells in quoted_rows(path, itertools.chain([first], lines), separator):
        yield Row(start, cells) if cells else start


def _json_rows(path: str, lines: Iterable[str]) -> Iterator[Row | int]:
    names: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            yield number
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            at = f" in column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            raise InputError(f"{path}:{number}: is not JSON{at}; one object per line is needed") from None
        if not isinstance(values, dict):
            raise InputError(
                f'{path}:{number}: is not a JSON object; one such as {{"text": "…", "label": "…"}} per line is needed'
            )
        if not names:
            # The first object decides: a key that a later one lacks is an empty cell, a further key
            # is left out.
            names = list(values)
            yield Row(0, list(names))
        yield Row(number, [_json_cell(values.get(name)) for name in names])


def _json_cell(value: object) -> Any:
    """A text, or a tuple of names for a list of them; None is empty, and a number as JSON has it."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    # A list of names is a cell with several labels; a list in a list has no such meaning.
    if isinstance(value, list) and not any(isinstance(part, list | dict) or part is None for part in value):
        return tuple(part if isinstance(part, str) else json.dumps(part) for part in value)
    return json.dumps(value, ensure_ascii=False)
