"""Reader for a file with words and tags, in any format."""

from bert_cli.base.json_files import JsonObject, parse_json
from bert_cli.base.lines import split_lines
from bert_cli.examples.tagging import TABLE, WORDS, TaggingFile
from bert_cli.examples.token_files.columns import read_columns, split_columns
from bert_cli.examples.token_files.flags import DEFAULTS, TokenFlags
from bert_cli.examples.token_files.json_records import has_token_records, has_token_rows, read_json_records
from bert_cli.examples.token_files.layout import TAG_NAMES, has_tag_column
from bert_cli.examples.token_files.tables import find_table, is_binary_table, read_table
from bert_cli.examples.token_files.webanno import has_annotations, is_webanno, read_webanno
from bert_cli.reading.column_names import normalize_name
from bert_cli.reading.probe import read_layout
from bert_cli.reading.records import is_json_name, looks_like_json
from bert_cli.reading.source import Source
from bert_cli.settings.data import TextForm


def read_token_file(source: Source, flags: TokenFlags = DEFAULTS) -> TaggingFile:
    """Read a table, a JSON file or a column file; the content decides the format."""
    path = source.name
    if is_binary_table(path):
        return read_table(read_layout(source, TextForm(sheet=flags.sheet)), flags)
    text = source.text
    if is_webanno(text):
        return read_webanno(source, flags)
    if has_token_rows(text):
        return read_table(read_layout(source, TextForm(sheet=flags.sheet)), flags)
    if looks_like_json(path, text) or (is_json_name(path) and not text.strip()):
        return read_json_records(source, flags)
    table = find_table(source, split_lines(text, path), flags)
    return read_table(table, flags) if table else read_columns(source, flags)


def has_tokens(source: Source, flags: TokenFlags) -> bool:
    """Return whether a file certainly has words and tags, not texts with spans."""
    if is_binary_table(source.name):
        return True
    text = source.text
    return is_webanno(text) or has_token_records(text, flags) or has_token_rows(text)


def has_tags(source: Source, flags: TokenFlags) -> bool:
    """Return whether a file has tags.

    A header must contain the flag's name or a usual name for the tag column. Without a header, two
    columns are sufficient. In JSON, records must have a list with the flag's name or a usual name.
    """
    path = source.name
    if not is_binary_table(path) and is_webanno(source.text):
        return has_annotations(source.text)
    file = read_token_file(source, flags._replace(with_tags=False, logs=False))
    if file.format == WORDS:
        records = (parse_json(file.lines[example.line - 1], path, example.line) for example in file.examples)
        return any(_has_tag_list(record, flags) for record in records)
    first = file.lines[(file.header or file.examples[0].line) - 1].rstrip("\r")
    cells = first.split("\t") if file.format == TABLE else split_columns(first)
    return has_tag_column([cell.strip() for cell in cells], flags) if file.header else len(cells) > 1


def _has_tag_list(record: JsonObject, flags: TokenFlags) -> bool:
    if flags.tag_name or "tags" in record:
        return (flags.tag_name or "tags") in record
    return any(normalize_name(name) in TAG_NAMES and isinstance(value, list) for name, value in record.items())
