"""Tokenization: results of Google's code, limits, and properties of any text."""

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.text import tokenization
from bert_cli.text.tokenization import BasicTokenizer, FullTokenizer, WordpieceTokenizer
from bert_cli.text.vocabulary import Vocabulary

quick = settings(max_examples=150, deadline=None, derandomize=True, database=None)

# input, words if lower-cased, words if not
VECTORS = [
    ("Hello, World!  it's", "hello , world ! it ' s", "Hello , World ! it ' s"),
    ("a\u200bb", "ab", "ab"),
    ("a\x0bb", "ab", "ab"),
    ("a\x0cb\x1cc\x1dd\x1ee\x1ff", "abcdef", "abcdef"),
    ("a\tb\nc\rd", "a b c d", "a b c d"),
    ("x\0y\ufffdz", "xyz", "xyz"),
    ("café NAÏVE", "cafe naive", "café NAÏVE"),
    ("İstanbul", "istanbul", "İstanbul"),
    ("Straße", "straße", "Straße"),
    ("한국어", "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165", "한국어"),
    ("中文abc日", "中 文 abc 日", "中 文 abc 日"),
    ("あいカ", "あいカ", "あいカ"),
    ("हिन्दी", "हिनदी", "हिन्दी"),
    ("йод", "иод", "йод"),
    ("[unused1]", "[ unused1 ]", "[ unused1 ]"),
    ("[MASK]", "[ mask ]", "[ MASK ]"),
    ("$5 €5 £5 5%", "$ 5 €5 £5 5 %", "$ 5 €5 £5 5 %"),
    ("a^b`c|d~e+f<g=h>i", "a ^ b ` c | d ~ e + f < g = h > i", "a ^ b ` c | d ~ e + f < g = h > i"),
    ("é^é`é|é~é+é<é=é>é$é", "e ^ e ` e | e ~ e + e < e = e > e $ e", "é ^ é ` é | é ~ é + é < é = é > é $ é"),
    ("20°©™", "20°©™", "20°©™"),
    ("👨\u200d👩", "👨👩", "👨👩"),
    ("a\xa0b\u3000c\u202fd", "a b c d", "a b c d"),
    ("a\u2028b\u2029c", "a b c", "a b c"),
    ("a\u0085b", "ab", "ab"),
    ("soft\u00adhyphen", "softhyphen", "softhyphen"),
    ("\ufeffbom", "bom", "bom"),
    ("\ue000pua", "\ue000pua", "\ue000pua"),
    ("²½", "²½", "²½"),
    ("，！Ａ", "， ！ ａ", "， ！ Ａ"),
    ("\uf900x", "\u8c48 x", "\uf900 x"),
    ("\u0301", "", "\u0301"),
    ("\u0600x", "x", "x"),
    ("ΟΔΟΣ ΟΔΟΣ. Σ", "οδος οδος . σ", "ΟΔΟΣ ΟΔΟΣ . Σ"),
]

SMALL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "##able", "##ab", "a", "##a", ",", "caf", "##e"]
# A whole alphabet, so that only words with an unknown character are [UNK].
LETTERS = [mark + letter for letter in "abcdefxyzàé中文" for mark in ("", "##")]
VOCABULARY = {token: index for index, token in enumerate(dict.fromkeys([*SMALL, "!", "'", "[", "]", *LETTERS]))}

# Texts with ASCII words, controls, all white space, accents, sigma, ideographs and punctuation.
TEXTS = st.one_of(
    st.text(alphabet="abcdefxyzABXYZ,!'[] \t\n", max_size=60),
    st.text(
        alphabet="abX,$ \t\n\r\x00\x0b\x0c\x1c\x7f\x85\xa0\u2028\u200b\u3000éÀİΣß\u0301中文가€。\ufffd", max_size=40
    ),
    st.text(max_size=30),
)
CASING = st.booleans()


@pytest.mark.parametrize(("text", "lower", "cased"), VECTORS)
def test_words_as_in_google_code(text, lower, cased):
    assert BasicTokenizer().tokenize(text) == lower.split(" " if lower else None)
    assert BasicTokenizer(do_lower_case=False).tokenize(text) == cased.split(" ")


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("unaffable", "un ##aff ##able"),
        ("unaffabx", "[UNK]"),
        ("", ""),
        ("un a zz un", "un a [UNK] un"),
        ("a" * 200, "a" + " ##a" * 199),
        ("a" * 201, "[UNK]"),
    ],
)
def test_wordpieces(word, pieces):
    tokenizer = WordpieceTokenizer({token: index for index, token in enumerate(SMALL)})
    for _ in range(2):  # the second time from the cache
        assert tokenizer.tokenize(word) == pieces.split()


def test_greedy_cutting_does_not_backtrack():
    # "ab" + "##c" would fit, but the longest first piece is "abc", and nothing begins with "##d".
    tokenizer = WordpieceTokenizer({"[UNK]": 0, "ab": 1, "abc": 2, "##cd": 3})
    assert tokenizer.tokenize("abcd") == ["[UNK]"]
    assert tokenizer.tokenize("abc") == ["abc"]


def test_inner_pieces_may_be_the_longest():
    tokenizer = WordpieceTokenizer({"[UNK]": 0, "a": 1, "##bcdefghij": 2})
    assert tokenizer.tokenize("abcdefghij") == ["a", "##bcdefghij"]
    assert tokenizer.tokenize("abcdefghija") == ["[UNK]"]


def test_length_counts_characters_after_accents_are_gone():
    tokenizer = FullTokenizer(VOCABULARY)
    assert tokenizer.tokenize("e\u0301" * 200) == ["e"] + ["##e"] * 199
    assert tokenizer.tokenize("e\u0301" * 201) == ["[UNK]"]


def test_length_limit_applies_to_words_not_chunks():
    tokenizer = FullTokenizer(VOCABULARY)
    assert tokenizer.tokenize("a" * 150 + "," + "a" * 150) == (["a"] + ["##a"] * 149) + [","] + ["a"] + ["##a"] * 149


def test_repeated_token_has_the_id_of_its_last_line():
    tokens = ["[UNK]", "a", "b", "a"]
    tokenizer = FullTokenizer(Vocabulary(ids={"[UNK]": 0, "a": 3, "b": 2}, tokens=tokens, size=4, path="vocab.txt"))
    assert tokenizer.encode("a b c") == [3, 2, 0]
    assert tokenizer.convert_ids_to_tokens([3, 1, 0]) == ["a", "a", "[UNK]"]


def test_unknown_ids_raise():
    tokenizer = FullTokenizer(VOCABULARY)
    with pytest.raises(KeyError, match="-1"):
        tokenizer.convert_ids_to_tokens([-1])


def test_cache_size_is_bounded():
    tokenizer = FullTokenizer(VOCABULARY, cache_size=10)
    memos = [
        tokenizer.basic_tokenizer._words,
        tokenizer.wordpiece_tokenizer._pieces,
        tokenizer._chunk_pieces,
        tokenizer._chunk_ids,
    ]
    for index in range(1000):
        word = f"a{index}, " + "b" * index
        tokenizer.basic_tokenizer.tokenize(word)
        tokenizer.tokenize(word)
        tokenizer.encode(word)
        assert all(len(memo) <= 10 for memo in memos)
    assert all(memos), "nothing was remembered at all"
    assert max(len(key) for memo in memos for key in memo) <= tokenization._LONGEST_CACHED


def test_copy_for_another_process_has_an_empty_cache():
    tokenizer = FullTokenizer(VOCABULARY)
    fresh = len(pickle.dumps(tokenizer))
    expected = tokenizer.encode("Abc, déf! 中文")
    data = pickle.dumps(tokenizer)
    assert len(data) == fresh
    copy = pickle.loads(data)
    assert copy.encode("Abc, déf! 中文") == expected
    assert copy.tokenize("abc") == ["a", "##b", "##c"]


@quick
@given(TEXTS, CASING)
def test_encode_returns_the_ids_of_tokenize(text, lower):
    tokenizer = FullTokenizer(VOCABULARY, lower)
    tokens = tokenizer.tokenize(text)
    ids = tokenizer.encode(text)
    assert ids == [tokenizer.ids[token] for token in tokens]
    assert tokens == tokenizer.convert_ids_to_tokens(ids)
    assert tokens == tokenizer.wordpiece_tokenizer.tokenize(" ".join(tokenizer.basic_tokenizer.tokenize(text)))


@quick
@given(TEXTS, TEXTS, CASING)
def test_texts_with_a_space_between_are_independent(first, second, lower):
    tokenizer = FullTokenizer(VOCABULARY, lower)
    assert tokenizer.tokenize(f"{first} {second}") == tokenizer.tokenize(first) + tokenizer.tokenize(second)


@quick
@given(st.lists(TEXTS, max_size=4), CASING)
def test_cache_changes_no_result(texts, lower):
    remembering = FullTokenizer(VOCABULARY, lower)
    full_at_once = FullTokenizer(VOCABULARY, lower, cache_size=1)
    forgetting = FullTokenizer(VOCABULARY, lower, cache_size=0)
    for text in texts * 2:
        words, tokens, ids = (
            forgetting.basic_tokenizer.tokenize(text),
            forgetting.tokenize(text),
            forgetting.encode(text),
        )
        for tokenizer in (remembering, full_at_once):
            assert tokenizer.basic_tokenizer.tokenize(text) == words
            assert tokenizer.tokenize(text) == tokens
            assert tokenizer.encode(text) == ids


@quick
@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=60), CASING)
def test_ascii_path_equals_the_general_path(text, lower):
    # An ideograph is a word and separates words, and it makes the chunk non-ASCII.
    tokenizer = BasicTokenizer(lower)
    everywhere = "".join("中" if character == " " else character for character in text) + "中"
    assert [word for word in tokenizer.tokenize(everywhere) if word != "中"] == tokenizer.tokenize(text)


@quick
@given(TEXTS, CASING)
def test_every_token_is_in_the_vocabulary(text, lower):
    tokenizer = FullTokenizer(VOCABULARY, lower)
    assert set(tokenizer.tokenize(text)) <= set(VOCABULARY)


@quick
@given(TEXTS, CASING)
def test_joined_pieces_equal_their_words(text, lower):
    tokenizer = FullTokenizer(VOCABULARY, lower)
    for word in tokenizer.basic_tokenizer.tokenize(text):
        pieces = tokenizer.wordpiece_tokenizer.tokenize(word)
        assert pieces == ["[UNK]"] or "".join(piece.removeprefix("##") for piece in pieces) == word
