"""Places of word pieces in a text."""

import random

import pytest

from bert_cli.text.offsets import find_pieces, token_offsets
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.tokenizer_settings import AddedToken, TokenizerSettings
from bert_cli.text.vocabulary import read_vocabulary
from tests.rows import write_rows

TOKENS = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "##able", "arger", "cafe", "im", ",", "!", "北", "京", "σας",
    "ναι", "i", "##st", "ᄀ", "##ᅡ", "a", "b", "ab", "<e>", "##b",
]  # fmt: skip
CHARACTERS = "abXÄé.,!'[]\t \x0b\x00\u200b\u0301\u00adΣσİıßＡ北京가각नमस्ते😀"


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    write_rows(path, TOKENS)
    vocabulary = read_vocabulary(str(path))
    return lambda do_lower_case=True, **settings: FullTokenizer(
        vocabulary, do_lower_case, settings=TokenizerSettings(**settings)
    )


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("  Unaffable, im\tCafé!", [("un", "Un"), ("##aff", "aff"), ("##able", "able"), (",", ","), ("im", "im"),
                                    ("cafe", "Café"), ("!", "!")]),
        ("Ärger cafe\u0301 ", [("arger", "Ärger"), ("cafe", "cafe\u0301")]),
        ("北京 x北", [("北", "北"), ("京", "京"), ("[UNK]", "x"), ("北", "北")]),
        ("ΝΑΙ ΣΑΣ", [("ναι", "ΝΑΙ"), ("σας", "ΣΑΣ")]),
        ("a\x0bb a\u200bb \u00ada", [("ab", "a\x0bb"), ("ab", "a\u200bb"), ("a", "a")]),
        ("İst", [("i", "İ"), ("##st", "st")]),
        ("가", [("ᄀ", "가"), ("##ᅡ", "가")]),
        ("unknown-word im", [("[UNK]", "unknown"), ("[UNK]", "-"), ("[UNK]", "word"), ("im", "im")]),
        ("", []),
        (" \u200b ", []),
    ],
)  # fmt: skip
def test_pieces_have_places(make, text, pieces):
    found = find_pieces(make(), text)
    assert [(piece.token, text[piece.start : piece.end]) for piece in found] == pieces


@pytest.mark.parametrize("settings", [{}, {"tokenize_chinese_chars": False}, {"strip_accents": False}])
@pytest.mark.parametrize("do_lower_case", [True, False])
def test_pieces_equal_the_tokens_of_any_text(make, settings, do_lower_case):
    tokenizer = make(do_lower_case, **settings)
    draw = random.Random(7)
    for _ in range(400):
        text = "".join(draw.choices(CHARACTERS, k=draw.randrange(14)))
        pieces = find_pieces(tokenizer, text)
        assert [piece.token for piece in pieces] == tokenizer.tokenize(text), ascii(text)
        assert [piece.token_id for piece in pieces] == tokenizer.encode(text)
        assert all(0 <= piece.start < piece.end <= len(text) for piece in pieces)
        assert [piece.start for piece in pieces] == sorted(piece.start for piece in pieces)


def test_added_tokens_have_places(make):
    ids = {token: number for number, token in enumerate(TOKENS)}
    plain = [AddedToken(token, ids[token], normalized=False) for token in ("<e>", "[MASK]")]
    tokenizer = make(added_tokens=(*plain, AddedToken("arger", ids["arger"], normalized=True)))
    text = "xÄRGERa<e>b [MASK]cafe"
    assert [(piece.token, text[piece.start : piece.end]) for piece in find_pieces(tokenizer, text)] == [
        ("[UNK]", "x"), ("arger", "ÄRGER"), ("a", "a"), ("<e>", "<e>"), ("b", "b"), ("[MASK]", "[MASK]"), ("cafe", "cafe"),
    ]  # fmt: skip


def test_offsets_of_a_pair_count_from_the_start_of_each_text(make):
    assert token_offsets(make(), "Ab im", "ab") == [None, [0, 2], [3, 5], None, [0, 2], None]
    assert token_offsets(make(), "", None) == [None, None]
