"""Words of plain text and their offsets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_cli.base.errors import InputError
from bert_cli.examples.text_lines import make_text_example, split_text


def test_words_by_hand():
    assert split_text("Éva's  cat,\t中文!") == (
        ("Éva", "'", "s", "cat", ",", "中", "文", "!"),
        (0, 3, 4, 7, 10, 12, 13, 14),
    )


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
    assert make_text_example("a b", 7).line == 7
