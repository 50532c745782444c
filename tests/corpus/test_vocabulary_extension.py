"""Words added to an existing vocabulary, with results that are computed by hand."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.corpus.vocabulary import SPECIAL
from bert_cli.corpus.vocabulary_extension import count_unused, extend_vocabulary, rank_words
from bert_cli.text.tokenization import WordpieceTokenizer
from tests.corpus.test_vocabulary import WORDS, ranked_counts


def test_words_are_ranked_by_the_pieces_they_save():
    tokens = [*SPECIAL, "ab", "b", "a", "##a", "##b", "##c"]
    counts = [("ab", 9), ("ba", 3), ("bcb", 3), ("de", 2), ("abc", 2), ("x", 1), ("a" * 201, 9)]
    # Saved pieces: ba 3×1, bcb 3×2, de (unknown) 2×2, abc 2×1. x is too rare, ab has a token, and the last
    # word is too long for one.
    assert rank_words(counts, tokens, 2) == ["bcb", "de", "ba", "abc"]
    assert rank_words(counts, tokens, 1) == ["bcb", "de", "ba", "abc", "x"]


def test_words_replace_unused_tokens_in_order_then_are_appended():
    tokens = ["[PAD]", "[unused1]", "[UNK]", "[unused0]", "[unused]", "a"]
    assert count_unused(tokens) == 2
    extension = extend_vocabulary(tokens, ["x", "y", "z", "w"], 7, [])
    assert extension.tokens == ["[PAD]", "x", "[UNK]", "y", "[unused]", "a", "z"]
    assert (extension.placed, extension.appended) == (["x", "y"], ["z"])
    assert extend_vocabulary(tokens, ["x", "y", "z"], 0, []).appended == []
    assert extend_vocabulary(tokens, ["x"], 9, []).tokens == ["[PAD]", "x", "[UNK]", "[unused0]", "[unused]", "a"]


def test_word_that_makes_another_unknown_is_not_added():
    """A token abc would turn abcd (ab ##cd) into abc and ##d, which is not in the vocabulary."""
    tokens = [*SPECIAL, "[unused0]", "ab", "##c", "##cd"]
    counts = [("abc", 5), ("abcd", 1), ("xy", 2)]
    assert rank_words(counts, tokens, 2) == ["abc", "xy"]
    assert extend_vocabulary(tokens, ["abc", "xy"], 0, counts).placed == ["xy"]


@settings(deadline=None)
@given(
    counts=WORDS, num_unused=st.integers(0, 4), num_added=st.integers(0, 4), pieces=st.sets(st.text("abcd", min_size=1))
)
def test_extension_keeps_tokens_and_known_words(counts, num_unused, num_added, pieces):
    counts = ranked_counts(counts)
    unused = [f"[unused{number}]" for number in range(num_unused)]
    tokens = [*SPECIAL, *sorted(pieces), *unused, *(f"##{piece}" for piece in sorted(pieces)[::2])]
    ranked = rank_words(counts, tokens, 1)
    extended = extend_vocabulary(tokens, ranked, len(tokens) + num_added, counts).tokens
    assert len(extended) <= len(tokens) + num_added
    assert [t for t in extended[: len(tokens)] if t in tokens] == [t for t in tokens if t in extended]
    old, new = (WordpieceTokenizer({t: i for i, t in enumerate(group)}) for group in (tokens, extended))
    for word, _ in counts:
        assert new.tokenize_words([word]) != ["[UNK]"] or old.tokenize_words([word]) == ["[UNK]"]
