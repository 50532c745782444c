"""The table of bert-build-vocab."""

import re

from bert_cli.outputs.preparation import vocabulary_table

REPORT = {
    "words": 12345,
    "distinct_words": 678,
    "vocab_size": 1000,
    "pieces_per_word": 1.25,
    "unknown_share": 0.0004,
    "reading_seconds": 1.25,
    "total_seconds": 10.0,
}


def rows(report):
    return [re.sub(r" {2,}", " | ", line.strip()) for line in vocabulary_table(report)]


def test_table():
    assert rows(REPORT) == [
        "words | 12,345",
        "distinct words | 678",
        "vocabulary | 1,000",
        "pieces/word | 1.250",
        "unknown words | 0.040%",
        "seconds | 10.0 | 1.2 of them for reading",
    ]


def test_an_extended_vocabulary_stands_beside_the_old_one():
    before = {"vocab_size": 998, "pieces_per_word": 1.5, "unknown_share": 0.01}
    assert rows(REPORT | {"before": before})[2:5] == [
        "vocabulary | 1,000 | 998 before",
        "pieces/word | 1.250 | 1.500 before",
        "unknown words | 0.040% | 1.000% before",
    ]
