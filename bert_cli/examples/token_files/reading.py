"""A file of words and tags -> TaggingFile; the content decides its format."""

from typing import Any

from bert_cli.base.json_files import parse_json
from bert_cli.base.lines import read_text
from bert_cli.examples.annotations.json_values import looks_like_json
from bert_cli.examples.table_files.column_names import plain
from bert_cli.examples.tagging import WORDS, TaggingFile
from bert_cli.examples.token_files.columns import read_columns, split_columns
from bert_cli.examples.token_files.flags import DEFAULTS, TokenFlags
from bert_cli.examples.token_files.json_records import holds_token_records, read_json_records
from bert_cli.examples.token_files.layout import TAG_NAMES


def read_token_file(path: str, flags: TokenFlags = DEFAULTS) -> TaggingFile:
    """Return the sentences of a file of JSON, or of one in columns."""
    if looks_like_json(path, read_text(path, flags.encoding)):
        return read_json_records(path, flags)
    return read_columns(path, flags)


def is_token_json(path: str, encoding: str) -> bool:
    """Return whether a file is JSON of words and tags, and not of texts with spans."""
    return holds_token_records(read_text(path, encoding))


def has_tags(path: str, flags: TokenFlags) -> bool:
    """Return whether a file has tags: a column next to the words, or a member of JSON.

    With a header, the column has the name that a flag gives.
    """
    file = read_token_file(path, flags._replace(with_tags=False))
    if file.format == WORDS:
        records = (parse_json(file.lines[example.line - 1], path, example.line) for example in file.examples)
        return any(_has_tags(record, flags) for record in records)
    cells = split_columns(file.lines[(file.header or file.examples[0].line) - 1].rstrip("\r"))
    if file.header and flags.tag_name:
        return flags.tag_name in [cell.strip() for cell in cells]
    return len(cells) > 1


def _has_tags(record: dict[str, Any], flags: TokenFlags) -> bool:
    if flags.tag_name or "tags" in record:
        return (flags.tag_name or "tags") in record
    return any(plain(name) in TAG_NAMES and isinstance(value, list) for name, value in record.items())
