"""Detection of the format of files with words and tags, and of tags."""

import pytest

from bert_cli.examples.tagging import COLUMNS, WORDS
from bert_cli.examples.token_files.flags import TokenFlags
from bert_cli.examples.token_files.reading import has_tokens, read_token_file
from bert_cli.reading.source import Source
from tests.examples.token_files.files import finds_tags, write


def test_other_suffixes_are_column_files(tmp_path):
    assert read_token_file(Source(write(tmp_path, "a\tO\n", "train.conll"))).format == COLUMNS


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.txt", '{"words": ["a"], "tags": ["O"]}\n', WORDS),
        ("a.json", '[{"tokens": ["a"], "ner_tags": ["O"]}]', WORDS),
        ("a.txt", "{ O\n} O\n", COLUMNS),
        ("a.txt", "[ O\n] O\n", COLUMNS),
    ],
)
def test_contents_decide(tmp_path, name, text, expected):
    path = write(tmp_path, text, name)
    assert read_token_file(Source(path)).format == expected
    assert has_tokens(Source(path), TokenFlags()) == (expected == WORDS)


@pytest.mark.parametrize(
    ("text", "flags", "expected"),
    [
        ("a O\n", TokenFlags(), True),
        ("a\nb\n", TokenFlags(), False),
        ("Word\nAnna\n", TokenFlags(), False),
        ("Word\tPOS\nAnna\tNN\n", TokenFlags(tag_column="Tag"), False),
        ("Word\tTag\nAnna\tO\n", TokenFlags(tag_column="Tag"), True),
        ('{"words": ["a"]}\n{"words": ["b"], "tags": ["O"]}', TokenFlags(), True),
        ('{"words": ["a"], "label": "x"}', TokenFlags(), False),
        ('{"tokens": ["a"], "ner_tags": [1]}', TokenFlags(), True),
        ('{"tokens": ["a"], "pos_tags": [1]}', TokenFlags(), False),
        ('{"tokens": ["a"], "pos_tags": [1]}', TokenFlags(tag_column="pos_tags"), True),
    ],
)
def test_has_tags(tmp_path, text, flags, expected):
    assert finds_tags(Source(write(tmp_path, text)), flags) == expected
