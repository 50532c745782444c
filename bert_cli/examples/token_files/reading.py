"""A file of words and tags -> TaggingFile; the content decides its format."""

from typing import Any

from bert_cli.base.json_files import parse_json
from bert_cli.base.lines import read_text, split_lines
from bert_cli.examples.table_files.column_names import normalize_name
from bert_cli.examples.table_files.json_values import is_json_name, looks_like_json
from bert_cli.examples.table_files.probe import open_table
from bert_cli.examples.tagging import TABLE, WORDS, TaggingFile
from bert_cli.examples.token_files.columns import read_columns, split_columns
from bert_cli.examples.token_files.flags import DEFAULTS, TokenFlags
from bert_cli.examples.token_files.json_records import holds_token_records, holds_token_rows, read_json_records
from bert_cli.examples.token_files.layout import TAG_NAMES, names_tag
from bert_cli.examples.token_files.tables import find_table, is_packed_table, read_table
from bert_cli.settings.data import TextForm


def read_token_file(path: str, flags: TokenFlags = DEFAULTS) -> TaggingFile:
    """Return the sentences of a table, of JSON, or of a file in columns."""
    form = TextForm(flags.encoding, sheet=flags.sheet)
    if is_packed_table(path):
        return read_table(open_table(path, flags.flag, form), flags)
    text = read_text(path, flags.encoding)
    if holds_token_rows(text):
        return read_table(open_table(path, flags.flag, form), flags)
    if looks_like_json(path, text) or (is_json_name(path) and not text.strip()):
        return read_json_records(path, flags)
    table = find_table(path, split_lines(text, path), flags)
    return read_table(table, flags) if table else read_columns(path, flags)


def holds_tokens(path: str, flags: TokenFlags) -> bool:
    """Return whether a file surely holds words and tags, and not texts with spans."""
    if is_packed_table(path):
        return True
    text = read_text(path, flags.encoding)
    return holds_token_records(text, flags) or holds_token_rows(text)


def has_tags(path: str, flags: TokenFlags) -> bool:
    """Return whether a file has tags: a column next to the words, or a member of JSON.

    In a header, the column of tags has the name that a flag gives, or a usual name.
    """
    file = read_token_file(path, flags._replace(with_tags=False, logs=False))
    if file.format == WORDS:
        records = (parse_json(file.lines[example.line - 1], path, example.line) for example in file.examples)
        return any(_has_tags(record, flags) for record in records)
    first = file.lines[(file.header or file.examples[0].line) - 1].rstrip("\r")
    cells = first.split("\t") if file.format == TABLE else split_columns(first)
    return names_tag([cell.strip() for cell in cells], flags) if file.header else len(cells) > 1


def _has_tags(record: dict[str, Any], flags: TokenFlags) -> bool:
    if flags.tag_name or "tags" in record:
        return (flags.tag_name or "tags") in record
    return any(normalize_name(name) in TAG_NAMES and isinstance(value, list) for name, value in record.items())
