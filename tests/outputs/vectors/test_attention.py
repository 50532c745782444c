"""Attention in a single text: strongest links, and attention between words with several pieces."""

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.features.extraction import WordSpan
from bert_cli.outputs.vectors.attention import (
    WordOrSpecialToken,
    attention_of_words,
    find_word,
    strongest_links,
    word_table,
    words_and_special_tokens,
)
from tests.snapshots import raises

TOKENS = ["[CLS]", "em", "##bed", "it", "[SEP]"]
WORDS = [WordSpan("embed", 0, 5, 1, 3), WordSpan("It", 6, 8, 3, 4)]
UNITS = [
    WordOrSpecialToken("[CLS]", 0, 1),
    WordOrSpecialToken("embed", 1, 3),
    WordOrSpecialToken("It", 3, 4),
    WordOrSpecialToken("[SEP]", 4, 5),
]


def test_strongest_links():
    attention = np.float32([[0.9, 0.05, 0.05, 0], [0.2, 0.3, 0.5, 0], [0.1, 0.6, 0.3, 0], [0, 0, 0, 1]])
    links = strongest_links(attention, ["[CLS]", "a", "b", "[SEP]"], 2)
    assert [(round(value, 4), source, target) for value, source, target in links] == [
        (0.6, "b:2", "a:1"),
        (0.5, "a:1", "b:2"),
    ]
    assert strongest_links(attention[:2, :2], ["[CLS]", "[SEP]"], 2) == []


def test_words_and_special_tokens_are_units():
    assert words_and_special_tokens(TOKENS, WORDS) == UNITS
    assert words_and_special_tokens(["[CLS]", "[SEP]"], []) == [
        WordOrSpecialToken("[CLS]", 0, 1),
        WordOrSpecialToken("[SEP]", 1, 2),
    ]


def test_attention_to_a_word_is_a_sum_and_from_a_word_a_mean():
    attention = np.random.default_rng(0).dirichlet(np.ones(5), 5).astype(np.float32)
    word_attention = attention_of_words(attention, words_and_special_tokens(TOKENS, WORDS))
    expected = [
        [
            np.mean([sum(attention[i, j] for j in range(to.first, to.last)) for i in range(of.first, of.last)])
            for to in UNITS
        ]
        for of in UNITS
    ]
    np.testing.assert_allclose(word_attention, expected, atol=1e-6)
    np.testing.assert_allclose(word_attention.sum(axis=1), 1, atol=1e-6)


def test_a_word_with_the_same_case_is_preferred():
    units = [WordOrSpecialToken("it", 0, 1), WordOrSpecialToken("It", 1, 2), WordOrSpecialToken("it", 2, 3)]
    assert find_word("It", units) == [1]
    assert find_word("it", units) == [0, 2]
    assert find_word("IT", units) == [0, 1, 2]
    with raises(InputError, "--attention_of=bank: "):
        find_word("bank", units)


def test_the_table_has_both_directions_best_first():
    attention = np.float32([[0.1, 0.7, 0.2], [0.5, 0.25, 0.25], [0.3, 0.3, 0.4]])
    units = [WordOrSpecialToken("a", 0, 1), WordOrSpecialToken("b", 1, 2), WordOrSpecialToken("a", 2, 3)]
    assert word_table(attention, units, 1, 2) == [
        "word    b:1 -> word    word -> b:1",
        "a:0          0.5000         0.7000",
        "b:1          0.2500         0.2500",
    ]
