"""Documents for pre-training in files that are not plain text: tables, JSON and Wiki extracts.

Each document becomes lines with an empty line after them, as plain text has them. Its own empty
lines are left out.
"""

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import quote
from bert_cli.base.lines import TEXT, decode
from bert_cli.base.log import LOG
from bert_cli.examples.user_tables import join_text, make_cell_check
from bert_cli.reading.column_names import TEXT_NAMES, has_usual_names, normalize_name
from bert_cli.reading.columns.facts import DataFacts, log_facts
from bert_cli.reading.columns.find import SAMPLE, find_columns
from bert_cli.reading.columns.roles import ColumnRules
from bert_cli.reading.formats import is_table
from bert_cli.reading.header import AUTO, YES
from bert_cli.reading.probe import TableFile, read_json_table, read_layout
from bert_cli.reading.rows import LeftOutRows
from bert_cli.reading.source import Source
from bert_cli.settings.data import Columns, TrainedColumns
from bert_cli.settings.texts import PLAIN_TEXT, CorpusForm

# WikiExtractor writes <doc id="12" url="…" title="…"> and </doc>, each on its own line.
_DOCUMENT_START = re.compile(r'<doc(?: [\w:]+="[^"]*")+>')
_DOCUMENT_END = "</doc>"
# Its other characters of HTML are escaped. Replace & last.
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&"))
_MAX_HEADER = 20  # lines that decide whether a text has columns


class TextLines(NamedTuple):
    """Complete lines of documents, and the 1-based line of the file where they begin."""

    line: int
    text: str


def is_filled_table(path: str) -> bool:
    """Return whether a file is a table by its name; an empty file is a text without documents."""
    return is_table(path) and not files.is_empty(path)


def read_table_documents(source: Source, form: CorpusForm) -> Iterator[TextLines]:
    """Yield the documents in a table, see `_read_rows`."""
    return _read_rows(read_layout(source, form.table), form)


def read_json_documents(source: Source, form: CorpusForm) -> Iterator[TextLines]:
    """Yield the documents in JSON records, see `_read_rows`; raise InputError for a pipe."""
    name = source.name
    refuse_if(not source.can_rewind, f"{name}: holds JSON records, which come from files; write them into a file")
    LOG.info("%s: holds JSON records, and is read as these", name)
    return _read_rows(read_json_table(source), form)


def check_plain_text(name: str, head: str, form: CorpusForm) -> None:
    """Refuse flags for tables, and warn of a plain text that looks like a table.

    Args:
        name: the file, for messages.
        head: the beginning of its text.

    Raises:
        InputError: a flag is about tables.
    """
    table, usual = form.table, PLAIN_TEXT.table
    flags = {
        "text_column": (form.text_column, None),
        "header": (form.header, AUTO),
        "quoting": (table.quoting, usual.quoting),
        "sheet": (table.sheet, usual.sheet),
    }
    for flag, (value, default) in flags.items():
        refuse_if(
            value != default,
            f"--{flag}={value}: {name} is plain text, not a table; leave the flag out, or let the file's name end in "
            ".csv, .tsv or .jsonl if it is a table",
        )
    lines = head.split("\n")[:-1][:_MAX_HEADER]
    for delimiter in ("\t", ",", ";", "|") if len(lines) > 1 else ():
        names = [name.strip().strip('"') for name in lines[0].removeprefix("\ufeff").split(delimiter)]
        if len(names) > 1 and has_usual_names(names) and all(delimiter in line for line in lines):
            LOG.warning(
                "%s:1: warning: looks like the header of a table with %s; each line is read as a sentence; if it is "
                "a table, let its name end in .csv or .tsv",
                name, ", ".join(map(quote, names)),
            )  # fmt: skip
            return


def _read_rows(table: TableFile, form: CorpusForm) -> Iterator[TextLines]:
    """Yield the document in each row's text column, and log the account of the file."""
    path = table.path
    rules = ColumnRules(
        Columns(text_column=form.text_column), form.header, needs_label=False, trained=TrainedColumns(num_texts=1)
    )
    table = table.with_paths(rules.flag_columns)
    left_out: list[LeftOutRows] = []
    unread: dict[str, None] = {}
    stream = table.filled_rows(left_out=left_out, unread=unread)
    sample = list(itertools.islice(stream, SAMPLE))
    refuse_if(not sample, f"{path}: is empty; rows of texts are needed")
    # No document is only a name such as "text", so that a single name is enough for a header.
    if form.header == AUTO and any(normalize_name(str(cell)) in TEXT_NAMES for cell in sample[0].cells):
        rules = rules._replace(header=YES)
    columns = find_columns(table, sample, rules)
    refuse_if(
        columns.text_b is not None,
        f"{path}: has two columns of texts; give --text_column for the one to train on",
    )
    # The text is used, and nothing else.
    columns = replace(columns, labels=(), identifier=None, answer=None, may_have_pairs=False)
    check_cells = make_cell_check(path, columns)
    num_documents = 0
    headers: list[int] = []
    empty: list[int] = []
    for row in itertools.chain(sample if columns.names is None else sample[1:], stream):
        table.check_width(row, columns.width)
        if columns.is_repeated_header(row):
            headers.append(row.line)
            continue
        check_cells(row)
        lines = _make_document(join_text(row.cells[columns.text_a]).split("\n"))
        if not lines:
            empty.append(row.line)
            continue
        num_documents += 1
        yield TextLines(row.line, lines)
    left_out += LeftOutRows.of_lines("rows that repeat the header, as in joined files", headers)
    left_out += LeftOutRows.of_lines("rows without a text", empty)
    log_facts(columns.facts(path, num_documents, left_out, unread=unread))


def _make_document(lines: Iterable[str]) -> str:
    """Return lines without blank ones, with an empty line at the end; "" if all are blank."""
    filled = [line for line in lines if line and not line.isspace()]
    return "\n".join([*filled, "", ""]) if filled else ""


def holds_extracts(head: str) -> bool:
    """Return whether a text begins like WikiExtractor's output."""
    return _DOCUMENT_START.fullmatch(head.removeprefix("\ufeff").lstrip().partition("\n")[0].rstrip()) is not None


def strip_extracts(name: str, blocks: Iterable[tuple[int, bytes]]) -> Iterator[TextLines]:
    """Yield the documents in WikiExtractor's output without markup, and log their number.

    Args:
        name: the file, for messages.
        blocks: its text in pieces of complete lines, each with its first line.

    Raises:
        InputError: an element is not closed, or a text is in none.
    """
    start = num_documents = 0
    empty: list[int] = []
    lines: list[str] = []
    for first_line, data in blocks:
        text = decode(data, name, first_line, TEXT)
        text = text.removeprefix("\ufeff") if first_line == 1 else text
        for number, line in enumerate(text.split("\n"), first_line):
            mark = line.strip()
            if _DOCUMENT_START.fullmatch(mark):
                _check_closed(name, start)
                start = number
            elif mark == _DOCUMENT_END:
                refuse_if(not start, f"{name}:{number}: {_DOCUMENT_END} closes no <doc …>; correct the line")
                document = _make_document(map(_unescape, lines))
                num_documents += bool(document)
                empty += [] if document else [start]
                yield TextLines(start, document)
                start, lines = 0, []
            elif start:
                lines.append(line)
            elif mark:
                raise InputError(
                    f"{name}:{number}: is outside of <doc …> and {_DOCUMENT_END}, but the file begins with <doc …>; "
                    "put each text into such an element"
                )
    _check_closed(name, start)
    form = "extracts of WikiExtractor, read without <doc …> and </doc>"
    log_facts(
        DataFacts(name, num_documents, "documents", left_out=LeftOutRows.of_lines("empty documents", empty), form=form)
    )


def _check_closed(name: str, start: int) -> None:
    refuse_if(bool(start), f"{name}:{start}: <doc …> is not closed by {_DOCUMENT_END}; complete the file")


def _unescape(line: str) -> str:
    for entity, character in _ENTITIES:
        line = line.replace(entity, character)
    return line
