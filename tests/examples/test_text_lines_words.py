"""Words of plain text and their offsets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_cli.base.errors import InputError
from bert_cli.examples.text_lines import make_text_example, split_line_words, split_text
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.tokenizer_settings import AddedToken, TokenizerSettings

VOCABULARY = ["[UNK]", "a", "the", "user", "<", ">", ",", "<user>", "[E1]", "New York", "café"]
ADDED = (
    AddedToken("<user>", 7),
    AddedToken("[E1]", 8, normalized=False, single_word=True),
    AddedToken("New York", 9),
    AddedToken("café", 10),
)
IDS = {token: index for index, token in enumerate(VOCABULARY)}
TOKENIZER = FullTokenizer(IDS, settings=TokenizerSettings(added_tokens=ADDED))


def test_words_by_hand():
    assert split_text("Éva's  cat,\t中文!") == (
        ("Éva", "'", "s", "cat", ",", "中", "文", "!"),
        (0, 3, 4, 7, 10, 12, 13, 14),
    )


@pytest.mark.parametrize(
    ("text", "words", "starts"),
    [
        ("a <user>, the<USER>the", ("a", "<user>", ",", "the", "<USER>", "the"), (0, 2, 8, 10, 13, 19)),
        ("中<user>[E1] a[E1]", ("中", "<user>", "[E1]", "a", "[", "E1", "]"), (0, 1, 7, 12, 13, 14, 16)),
        ("New York <user", ("New", "York", "<", "user"), (0, 4, 9, 10)),
        ("CAFE\u0301s cafe", ("CAFE\u0301", "s", "cafe"), (0, 5, 7)),
    ],
)
def test_an_added_token_is_one_word(text, words, starts):
    assert split_text(text, TOKENIZER) == (words, starts)
    assert make_text_example(text, TOKENIZER).words == words


def test_an_added_token_is_one_word_of_a_line():
    words = split_line_words("the<user>, a", 0, TOKENIZER)
    assert [(word.text, word.start, word.pieces) for word in words] == [
        ("the", 0, (2,)),
        ("<user>", 3, (7,)),
        (",", 9, (6,)),
        ("a", 11, (1,)),
    ]


@given(st.text())
def test_words_are_pieces_of_the_text_in_order(text):
    words, starts = split_text(text)
    end = 0
    for word, start in zip(words, starts, strict=True):
        assert text[start : start + len(word)] == word
        assert text[end:start].strip(" \t\r\n") == "" or text[end:start].isspace()
        end = start + len(word)


def test_half_of_a_surrogate_pair():
    with pytest.raises(InputError, match="is not UTF-8"):
        make_text_example("a \ud800")
    assert make_text_example("a b").words == ("a", "b")
