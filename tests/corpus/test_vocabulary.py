"""Vocabulary learning and coverage, with results that are computed by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_cli.base.errors import InputError
from bert_cli.corpus.vocabulary import (
    SPECIAL,
    Coverage,
    character_pieces,
    learn_vocabulary,
    measure_coverage,
    search_threshold,
)
from bert_cli.text.tokenization import BasicTokenizer
from tests.snapshots import raises

COUNTS = [("ab", 5), ("ba", 3), (",", 2), ("abc", 1)]
WORDS = st.dictionaries(st.text("abcdé中,", min_size=1, max_size=6), st.integers(1, 9), min_size=1)


def ranked_counts(counts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def test_coverage():
    tokens = [*SPECIAL, "ab", "b", "##a", "##c"]
    # Pieces: ab 5×1, ba 3×2, "," 2×[UNK], abc 1×2.
    coverage = measure_coverage(COUNTS, tokens)
    assert coverage == Coverage(words=11, pieces=15, unknown=2)
    assert coverage.pieces_per_word == pytest.approx(15 / 11)
    assert coverage.unknown_share == pytest.approx(2 / 11)


def test_overlong_word_is_unknown():
    assert measure_coverage([("a" * 201, 2)], [*SPECIAL, "a", "##a"]) == Coverage(2, 2, 2)


def test_punctuation_and_ideographs_get_no_inner_piece():
    assert character_pieces([("ab", 1), (",", 1), ("中", 1), ("€", 1)], BasicTokenizer()) == [
        *[",", "a", "b", "€", "中"],
        *["##a", "##b", "##€"],
    ]


def test_vocabulary_is_special_tokens_characters_frequent_pieces():
    characters = [",", "a", "b", "##a", "##b"]
    # The learner also returns one-character pieces that are not needed.
    learnt = {1: ["ab", ",", "##,", "ba", "##ab"], 2: ["ab", "##,"]}

    def learn(vocab_size, min_count=1):
        return learn_vocabulary(
            [("ab", 2), ("ba", 1)], SPECIAL, characters, vocab_size, min_count, lambda t: learnt[min(t, 2)]
        )

    assert learn(10) == [*SPECIAL, *characters]
    assert learn(11) == [*SPECIAL, *characters, "ab"]
    assert learn(12) == [*SPECIAL, *characters, "ab", "ba"]
    assert learn(100) == [*SPECIAL, *characters, "ab", "ba", "##ab"]
    assert learn(100, min_count=2) == [*SPECIAL, *characters, "ab"]


def test_whole_words_replace_characters_in_a_small_vocabulary():
    counts = [("abcdef", 2), ("fedcba", 1)]
    characters = character_pieces(counts, BasicTokenizer())
    assert learn_vocabulary(counts, SPECIAL, characters, 7, 1, None) == [*SPECIAL, "abcdef", "fedcba"]
    with raises(InputError):
        learn_vocabulary(counts, SPECIAL, characters, 6, 1, None)


def zipf(size):
    """Return a learner and the list of thresholds it is called with; piece n occurs size/n times."""
    thresholds = []

    def pieces_at(threshold):
        thresholds.append(threshold)
        return [str(n) for n in range(1, size + 1) if size / n >= threshold]

    return pieces_at, thresholds


@pytest.mark.parametrize("guess", [1, 17, 500, 100_000])
@pytest.mark.parametrize("num_pieces", [1, 10, 700, 5000, 99_999])
def test_search_gets_just_enough_pieces_in_few_tries(num_pieces, guess):
    pieces_at, thresholds = zipf(100_000)
    pieces = pieces_at(1) if num_pieces > 50_000 else search_threshold(pieces_at, num_pieces, 1, 100_000, guess)
    result = search_threshold(pieces_at, num_pieces, 1, 100_000, guess)
    assert result == pieces
    assert len(result) >= num_pieces
    threshold = thresholds[-1]
    assert len(result) <= num_pieces * 1.02 or len(pieces_at(threshold + 1)) < num_pieces
    assert len(thresholds) < 60


def test_search_returns_all_pieces_if_they_are_too_few():
    pieces_at, thresholds = zipf(100)
    assert len(search_threshold(pieces_at, 1000, 2, 100, 40)) == 50
    assert thresholds == [40, 20, 10, 5, 2]


@given(
    sizes=st.lists(st.integers(0, 50), min_size=1, max_size=20),
    num_pieces=st.integers(1, 50),
    guess=st.integers(0, 30),
)
def test_search_ends_for_any_learner(sizes, num_pieces, guess):
    """The number of pieces may rise with the threshold, because the learner is greedy."""
    result = search_threshold(lambda threshold: ["x"] * sizes[threshold - 1], num_pieces, 1, len(sizes), guess)
    assert len(result) in sizes


@given(counts=WORDS, vocab_size=st.integers(30, 60))
def test_every_word_is_known(counts, vocab_size):
    counts = ranked_counts({word: n for text, n in counts.items() for word in BasicTokenizer(False).tokenize(text)})
    characters = character_pieces(counts, BasicTokenizer(False))

    def learn(threshold):
        return [word for word, count in counts if count >= threshold]

    tokens = learn_vocabulary(counts, SPECIAL, characters, vocab_size, 1, learn)
    assert len(tokens) == len(set(tokens)) <= vocab_size
    assert tokens[:5] == list(SPECIAL)
    assert measure_coverage(counts, tokens).unknown == 0
