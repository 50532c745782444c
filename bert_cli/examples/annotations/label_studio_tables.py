"""Reader for Label Studio's CSV and TSV exports of spans, which become JSON-MIN records.

id,text,label,annotation_id
7,in New York.,"[{""start"": 3, ""end"": 11, ""text"": ""New York"", ""labels"": [""LOC""]}]",9
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names, quote
from bert_cli.base.json_files import JsonObject, has_form
from bert_cli.examples.annotations.label_studio_min import is_record
from bert_cli.reading.exports.label_studio import ADDED_MEMBERS, REGION
from bert_cli.reading.probe import read_layout
from bert_cli.reading.records import JsonRecord
from bert_cli.reading.source import Source
from bert_cli.settings.data import CSV_QUOTES, LITERAL, TextForm

# A cell with regions; CSV doubles the quotes.
_REGIONS = re.compile(r'\[\s*\{\s*"("?)(?:start|end|text|labels)\1"\s*:')
_NUMBER = re.compile(r"-?\d{1,9}")
_ID = re.compile("0|[1-9][0-9]{0,17}")


class RegionTable(NamedTuple):
    """The rows of a table as JSON-MIN records, and the columns that flags exclude."""

    records: list[JsonRecord]
    unread: tuple[str, ...]


def read_regions(source: Source, text_column: str | None = None, label_column: str | None = None) -> RegionTable | None:
    """Return the rows as JSON-MIN records; return None for a table without regions.

    Args:
        source: the file.
        text_column: column that --word_column names, or None.
        label_column: column that --tag_column names, or None.

    Raises:
        InputError: a cell in a column of regions is not a list of regions, or a given column is
            missing.
    """
    match = _REGIONS.search(source.text)
    if not match:
        return None
    path = source.name
    table = read_layout(source, TextForm(quoting=CSV_QUOTES if match[1] else LITERAL))
    header, *rows = table.filled_rows(warns=False)
    names = [cell.strip() for cell in header.cells]
    columns = [number for number, _ in enumerate(names) if any(_parse_regions(row.cell(number)) for row in rows)]
    labels = [names[number] for number in columns]
    label_name = None if label_column is None else _find_name(names, label_column)
    if not columns or (label_column is not None and label_name not in labels):
        return None
    ignored = {name for name in labels if label_name not in (None, name)}
    text_name = None if text_column is None else _find_name(names, text_column)
    if text_column is not None and text_name is None:
        columns_of_file = list_names([quote(name) for name in names])
        problem = f"--word_column={text_column}: there is no such column; the file has {columns_of_file}"
        raise InputError(f"{path}: {problem}")
    kept = {*names} if text_name is None else {text_name, *labels, *ADDED_MEMBERS}
    records = []
    for row in rows:
        table.check_width(row, len(names))
        cells = {name: row.cell(number) for number, name in enumerate(names) if name in kept - ignored}
        regions = {name: _read_cell(f"{path}:{row.line}", name, cells[name]) for name in labels if name in cells}
        records.append(JsonRecord(row.line, {**_make_record(cells), **regions}))
    unread = tuple(name for name in names if name not in kept - ignored)
    return RegionTable(records, unread) if any(is_record(record.value) for record in records) else None


def _find_name(names: Sequence[str], column: str) -> str | None:
    """Return the name of a column that a flag gives by name or by number."""
    if column in names or not _NUMBER.fullmatch(column):
        return column if column in names else None
    number = int(column)
    return names[number] if -len(names) <= number < len(names) else None


def _parse_regions(cell: str) -> list[Any] | None:
    """Return the regions in a cell, or None if it has no regions."""
    if cell[:1] != "[":
        return None
    try:
        regions = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return regions if has_form(regions, [REGION]) else None


def _read_cell(location: str, name: str, cell: str) -> list[Any]:
    regions = _parse_regions(cell) if cell.strip() else []
    if regions is None:
        form = '[{"start": …, "end": …, "labels": […]}] as Label Studio exports it'
        raise InputError(f"{location}: expected {form} in {quote(name)}, found {quote(cell)}; correct it")
    return regions


def _make_record(cells: Mapping[str, str]) -> JsonObject:
    """Return a record as in JSON-MIN, where the id is a number, and added members are never empty."""
    record: JsonObject = {name: cell for name, cell in cells.items() if cell or name not in ADDED_MEMBERS}
    identity = cells.get("id", "")
    return record | {"id": int(identity)} if _ID.fullmatch(identity) else record
