"""Records for tagged sentences, and plain text with word offsets."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.examples.tagging import TABLE, TaggingExample, TaggingFile
from bert_cli.examples.text_lines import make_text_example, split_text
from bert_cli.text.tokenization import BasicTokenizer
from tests.input_errors import error_of
from tests.snapshots import check_message


def test_a_record_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TaggingExample(("a",), None, 1).words = ()


def test_lines_of_words():
    columns = TaggingFile("a.txt", (), (TaggingExample(("a", "b"), None, 3),))
    assert columns.location(columns.examples[0], 1) == "a.txt:4"
    # A table row may have several lines in its file.
    table = TaggingFile("a.csv", (), (TaggingExample(("a", "b"), None, 3, lines=(5, 9)),), TABLE)
    assert table.location(table.examples[0], 1) == "a.csv:9"
    assert table.number_of(table.examples[0], 1) == 4


@pytest.mark.parametrize(
    ("text", "words", "starts"),
    [
        ("", (), ()),
        ("Anna left.", ("Anna", "left", "."), (0, 5, 9)),
        ("  (a-b)\tc ", ("(", "a", "-", "b", ")", "c"), (2, 3, 4, 5, 6, 8)),
        ("São Paulo’s", ("São", "Paulo", "’", "s"), (0, 4, 9, 10)),
        ("e\u0301a", ("e\u0301a",), (0,)),
        ("x中文y", ("x", "中", "文", "y"), (0, 1, 2, 3)),
        ("a\u200bb c\x0bd", ("a\u200bb", "c\x0bd"), (0, 4)),  # words keep all characters
        ("a\u00a0b\u2028c\u3000d", ("a", "b", "c", "d"), (0, 2, 4, 6)),
        ("😀!", ("😀", "!"), (0, 1)),
        ("$5 €5", ("$", "5", "€5"), (0, 1, 3)),
    ],
)
def test_words_and_offsets(text, words, starts):
    assert split_text(text) == (words, starts)
    assert make_text_example(text) == TaggingExample(words, None, 1, text, starts)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_words_have_correct_offsets_and_pieces(text):
    words, starts = split_text(text)
    assert all(text.startswith(word, start) and word for word, start in zip(words, starts, strict=True))
    assert all(a + len(word) <= b for a, b, word in zip(starts, starts[1:], words, strict=False))
    tokenizer = BasicTokenizer(do_lower_case=False)
    assert [token for word in words for token in tokenizer.tokenize(word)] == tokenizer.tokenize(text)


def test_half_of_a_surrogate_pair_is_refused():
    check_message(error_of(make_text_example, "a \udcff"), "--text: ")
