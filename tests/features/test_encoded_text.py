"""Texts as tokens, ids and segments."""

import pytest

from bert_cli.features.encoded_text import encode_text, split_pair, unknown_words
from bert_cli.text.tokenization import FullTokenizer

TOKENIZER = FullTokenizer({"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "the": 4, "dog": 5, "##s": 6})


@pytest.mark.parametrize(
    ("line", "expected"),
    [(" a ", ("a", None)), ("a ||| b", ("a", "b")), ("a ||| b ||| c", ("a ||| b", "c")), ("a|||b", ("a|||b", None))],
)
def test_lines_split_at_the_last_mark(line, expected):
    assert split_pair(line) == expected


def test_single_text():
    assert encode_text(TOKENIZER, "The dogs") == {
        "tokens": ["[CLS]", "the", "dog", "##s", "[SEP]"],
        "input_ids": [2, 4, 5, 6, 3],
        "segment_ids": [0, 0, 0, 0, 0],
    }


def test_pair():
    assert encode_text(TOKENIZER, "the", "dog") == {
        "tokens": ["[CLS]", "the", "[SEP]", "dog", "[SEP]"],
        "input_ids": [2, 4, 3, 5, 3],
        "segment_ids": [0, 0, 0, 1, 1],
    }


def test_unknown_words_keep_their_order():
    assert unknown_words(TOKENIZER, "The cat, the dogs") == ["cat", ","]
