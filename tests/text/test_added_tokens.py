"""Added tokens in a text: which match counts, and the text between matches."""

import pytest

from bert_cli.text.added_tokens import AddedTokenSplitter
from bert_cli.text.tokenization import BasicTokenizer, FullTokenizer
from bert_cli.text.tokenizer_settings import AddedToken, TokenizerSettings

VOCABULARY = {
    token: index for index, token in enumerate(["[UNK]", "the", "user", "a", "new", "ab", "##b", "i̇", "ö", "o"])
}
NEXT = len(VOCABULARY)


def split(text, *tokens):
    """Return the fragments of a text, with added tokens in parentheses."""
    fragments = AddedTokenSplitter(tokens, BasicTokenizer(True).normalize).split(text)
    return [f"({fragment.content})" if isinstance(fragment, AddedToken) else fragment for fragment in fragments]


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ("the <user> The", ["the ", "(<user>)", " the"]),
        ("<user><USER>", ["(<user>)", "(<user>)"]),
        ("THE [E1]", ["THE ", "([E1])"]),
        ("the [e1]", ["the [e1]"]),
        ("<U> [E1]<user", ["<U> ", "([E1])", "<user"]),
        ("", []),
    ],
)
def test_tokens_are_found_in_the_text_or_in_the_normalized_text(text, fragments):
    assert split(text, AddedToken("<user>", 7), AddedToken("[E1]", 8, normalized=False)) == fragments


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ("abc", ["(abc)"]),
        ("abd", ["(ab)", "d"]),
        ("xbcd", ["x", "(bcd)"]),
        ("abcd", ["(abc)", "d"]),
        ("ab\u0301c", ["(abc)"]),
    ],
)
def test_the_leftmost_longest_match_counts(text, fragments):
    assert split(text, AddedToken("ab", 1), AddedToken("abc", 2), AddedToken("bcd", 3), AddedToken("", 4)) == fragments


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("foo foo, foo-", 3),
        ("foox xfoo", 0),
        ("foo_ 1foo", 0),
        ("éfoo foo\u0301", 0),
        ("foo\u200d ²foo", 1),
        ("foo\u24b6 \U0001f170foo", 0),
    ],
)
def test_single_word_token_needs_a_word_boundary(text, count):
    tokens = [AddedToken("foo", 1, single_word=True, normalized=False)]
    assert split(text, *tokens).count("(foo)") == count


def encode(text, *tokens, lower=True, **settings):
    outside = tuple(token.id for token in tokens if token.content not in VOCABULARY)
    ids = VOCABULARY | {token.content: token.id for token in tokens}
    rules = TokenizerSettings(added_tokens=tokens, outside_wordpiece=outside, **settings)
    tokenizer = FullTokenizer(ids, lower, settings=rules)
    assert [tokenizer.ids[token] for token in tokenizer.tokenize(text)] == tokenizer.encode(text)
    return tokenizer.encode(text)


def test_encode_returns_ids_of_added_tokens():
    token = AddedToken("<user>", NEXT)
    assert encode("The <User>the", token) == [1, NEXT, 1]
    assert encode("The <User>the", token, lower=False) == [0, 0, 0, 0, 1]
    assert encode("the New\tYork, new", AddedToken("New York", NEXT)) == [1, NEXT, 0, 4]


def test_added_token_is_not_a_piece_of_a_word():
    token = AddedToken("a##b", NEXT), AddedToken("abb", NEXT + 1, single_word=True)
    assert encode("abb abbb", *token) == [NEXT + 1, 5, 6, 6]


def test_never_split_words_stay_whole():
    rules = {"never_split": ("the-user", "The", "zzz")}
    assert encode("the-user a-user The THE zzz", **rules) == [0, 3, 0, 2, 0, 1, 0]
    ids = VOCABULARY | {"the-user": NEXT, "The": NEXT + 1}
    tokenizer = FullTokenizer(ids, True, settings=TokenizerSettings(**rules))
    assert tokenizer.encode("the-user, the-user The\x00 THE") == [1, 0, 2, 0, NEXT, NEXT + 1, 1]
    assert tokenizer.words("the-user THE") == ["the-user", "the"]


@pytest.mark.parametrize(
    ("lower", "accents", "words"),
    [
        (True, None, ["o", "i", "o"]),
        (True, False, ["ö", "i̇", "ö"]),
        (False, None, ["Ö", "İ", "ö"]),
        (False, True, ["O", "I", "o"]),
    ],
)
def test_accents_and_casing_are_separate_settings(lower, accents, words):
    settings = TokenizerSettings(strip_accents=accents)
    assert BasicTokenizer(lower, settings=settings).tokenize("Ö İ ö") == words


def test_ideographs_stay_joined_without_tokenize_chinese_chars():
    assert BasicTokenizer(settings=TokenizerSettings(tokenize_chinese_chars=False)).tokenize("中文ab, 文") == [
        "中文ab",
        ",",
        "文",
    ]


def test_words_keep_added_tokens_whole():
    rules = TokenizerSettings(added_tokens=(AddedToken("[E1]", NEXT, normalized=False),))
    tokenizer = FullTokenizer(VOCABULARY | {"[E1]": NEXT}, settings=rules)
    assert tokenizer.words("[E1] The-user") == ["[E1]", "the", "-", "user"]
