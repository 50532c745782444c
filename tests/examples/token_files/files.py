"""Helpers that write files with words and tags, and read their sentences."""

from bert_cli.base.errors import InputError
from bert_cli.examples.token_files.flags import DEFAULTS, TokenFlags
from bert_cli.examples.token_files.reading import read_token_file
from bert_cli.reading.source import Source
from tests.rows import write_rows

CONLL = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects  VBZ I-VP O

Peter NNP I-NP I-PER
"""


def write(folder, text, name="words.txt"):
    return str(write_rows(folder / name, text))


def sentences(file):
    return [(example.words, example.tags, example.line) for example in file.examples]


def finds_tags(source: Source, flags: TokenFlags = DEFAULTS) -> bool:
    """Return whether tags are read from a test file, which may have words alone."""
    try:
        file = read_token_file(source, flags._replace(with_tags=False, finds_tags=True))
    except InputError as error:
        return "tags" in str(error)
    return any(example.tags is not None for example in file.examples)
