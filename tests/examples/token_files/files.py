"""Helpers that write files with words and tags, and read their sentences."""

import pytest

from bert_cli.base.errors import InputError

CONLL = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects  VBZ I-VP O

Peter NNP I-NP I-PER
"""


def write(folder, text, name="words.txt"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return str(path)


def error_of(function, *arguments, **named):
    with pytest.raises(InputError) as caught:
        function(*arguments, **named)
    return str(caught.value)


def sentences(file):
    return [(example.words, example.tags, example.line) for example in file.examples]
