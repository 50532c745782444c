"""Word counts in text files, block by block."""

import collections

import pytest

from bert_cli.base.errors import InputError
from bert_cli.corpus.text import read_blocks
from bert_cli.corpus.vocabulary import count_block, merge_counts
from bert_cli.text.tokenization import BasicTokenizer
from tests.snapshots import raises

TEXT = "The cat, the dog.\n\nA cat\u2028naïve\x0bté\r\nlast line"


def count_words(folder, text: bytes, block_size=1 << 19, do_lower_case=True):
    path = folder / "text.txt"
    path.write_bytes(text)
    tokenizer = BasicTokenizer(do_lower_case)
    return merge_counts(count_block(tokenizer, block) for block in read_blocks([str(path)], block_size))[0]


@pytest.mark.parametrize("block_size", [1, 5, 1 << 19])
def test_counts_are_sorted_by_frequency_then_code_point(tmp_path, block_size):
    assert count_words(tmp_path, TEXT.encode(), block_size) == [
        ("cat", 2),
        ("the", 2),
        (",", 1),
        (".", 1),
        ("a", 1),
        ("dog", 1),
        ("last", 1),
        ("line", 1),
        ("naivete", 1),
    ]


def test_cased_words_equal_the_tokenizer(tmp_path):
    expected = collections.Counter(word for line in TEXT.split("\n") for word in BasicTokenizer(False).tokenize(line))
    assert dict(count_words(tmp_path, TEXT.encode(), do_lower_case=False)) == expected


def test_positions_are_reported(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    tokenizer, positions = BasicTokenizer(), []
    merge_counts((count_block(tokenizer, block) for block in read_blocks([str(tmp_path / "a.txt")])), positions.append)
    assert positions[-1] == 8


def test_error_for_invalid_utf8_has_the_line_number(tmp_path):
    with raises(InputError, "text.txt:3: "):
        count_words(tmp_path, b"a\nb\nc\xff\n", 2)
