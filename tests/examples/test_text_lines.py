"""Lines with texts and pairs, and words with offsets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_cli.base.errors import InputError
from bert_cli.examples.text_lines import TextLine, read_text_lines, split_line, split_line_words
from bert_cli.reading.source import Source
from bert_cli.text.tokenization import FullTokenizer
from tests.snapshots import raises

TOKENIZER = FullTokenizer(
    {token: i for i, token in enumerate(["[UNK]", *"abcdeσς", *(f"##{c}" for c in "abcdeσς"), ","])}
)


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("one", ("one", None)),
        ("one ||| two", ("one", "two")),
        ("one ||| two ||| three", ("one ||| two", "three")),
        ("no|||blanks", ("no|||blanks", None)),
        ("ends ||| ", ("ends |||", None)),
        (" ||| starts", ("||| starts", None)),
        ("x ||| ||| y", ("x |||", "y")),
        ("", ("", None)),
        ("  \t", ("", None)),
        ("two\r", ("two", None)),
    ],
)
def test_split_as_the_original(line, texts):
    assert split_line(line)[1:3] == texts


def test_text_offsets_in_the_line():
    assert split_line("  ab ||| cd ", 7) == TextLine(7, "ab", "cd", 2, 9)


def test_only_newlines_end_lines(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"\xef\xbb\xbfa\n\nb\x0bc\r\nlast")
    source = Source(str(path))
    assert [line[:2] for line in read_text_lines(source)] == [(0, "a"), (1, ""), (2, "b\x0bc"), (3, "last")]
    assert [line.number for line in read_text_lines(source, skip=2)] == [2, 3]


def test_wrong_encoding_is_reported_with_its_line(tmp_path):
    path = tmp_path / "f"
    for data, place in ((b"a\ncaf\xe9\n", "f:2: "), ("ab\n".encode("utf-16"), "f:1: ")):
        path.write_bytes(data)
        with raises(InputError, place):
            list(read_text_lines(Source(str(path))))


def test_words_with_offsets():
    words = split_line_words("ab, Ça  zz", 3, TOKENIZER)
    assert [(word.text, word.start, word.end) for word in words] == [
        ("ab", 3, 5),
        (",", 5, 6),
        ("Ça", 7, 9),
        ("zz", 11, 13),
    ]
    assert [len(word.pieces) for word in words] == [2, 1, 2, 1]


@given(st.text(st.sampled_from("abΣ,.'é \t\x0b\x85\u200b\u3000中İ"), max_size=30))
def test_word_pieces_equal_the_texts_pieces(text):
    words = split_line_words(text, 0, TOKENIZER)
    assert [piece for word in words for piece in word.pieces] == TOKENIZER.encode(text)
    assert all(text[word.start : word.end] == word.text for word in words)
