"""Helpers that write files with words and tags, and read their sentences."""

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
