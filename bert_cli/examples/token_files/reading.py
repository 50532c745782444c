"""Reader for a file with words and tags, in any format."""

from bert_cli.base.lines import split_lines
from bert_cli.examples.tagging import TaggingFile
from bert_cli.examples.token_files.columns import read_column_file
from bert_cli.examples.token_files.flags import DEFAULTS, TokenFlags
from bert_cli.examples.token_files.json_records import has_token_records, has_token_rows, read_json_records
from bert_cli.examples.token_files.tables import find_table, is_binary_table, read_token_table
from bert_cli.examples.token_files.webanno import is_webanno, read_webanno
from bert_cli.reading.probe import read_layout
from bert_cli.reading.records import is_json_name, looks_like_json
from bert_cli.reading.source import Source
from bert_cli.settings.data import TextForm


def read_token_file(source: Source, flags: TokenFlags = DEFAULTS) -> TaggingFile:
    """Read a table, a JSON file or a column file; the content decides the format."""
    path = source.name
    if is_binary_table(path):
        return read_token_table(read_layout(source, TextForm(sheet=flags.sheet)), flags)
    text = source.text
    if is_webanno(text):
        return read_webanno(source, flags)
    if has_token_rows(text):
        return read_token_table(read_layout(source, TextForm(sheet=flags.sheet)), flags)
    if looks_like_json(path, text) or (is_json_name(path) and not text.strip()):
        return read_json_records(source, flags)
    table = find_table(source, split_lines(text, path), flags)
    return read_token_table(table, flags) if table else read_column_file(source, flags)


def has_tokens(source: Source, flags: TokenFlags) -> bool:
    """Return whether a file certainly has words and tags, not texts with spans."""
    if is_binary_table(source.name):
        return True
    text = source.text
    return is_webanno(text) or has_token_records(text, flags) or has_token_rows(text)
