"""Word importance: rows and shares that can be checked by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.features.packing import pack
from bert_cli.predicting.explanation import MOST_PAIRS, masked_rows, uncovering_orders, word_shares, word_tokens
from bert_cli.text.tokenization import FullTokenizer

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "not", "a", "good", "##ness", "film", "!"]
TOKENIZER = FullTokenizer({token: index for index, token in enumerate(TOKENS)})


def spell_rows(tokens, orders):
    rows = masked_rows(tokens, orders, TOKENIZER)
    token_ids = np.split(rows.token_ids, rows.offsets[1:-1])
    return [" ".join(TOKENIZER.convert_ids_to_tokens(ids.tolist())) for ids in token_ids]


def test_occluded_rows():
    """The last word's two pieces are masked together."""
    tokens = word_tokens("not a Goodness", None, TOKENIZER, 16)
    assert tokens.words == ("not", "a", "Goodness")
    assert spell_rows(tokens, [np.array([2, 0, 1])]) == [
        "[CLS] not a good ##ness [SEP]",
        "[CLS] [MASK] [MASK] [MASK] [MASK] [SEP]",
        "[CLS] [MASK] [MASK] good ##ness [SEP]",
        "[CLS] not [MASK] good ##ness [SEP]",
    ]


def test_shares_in_a_sum_are_its_terms():
    """The model adds word values in any order: not −2, a 0, good 3."""
    worth = {"not": -2.0, "a": 0.0, "good": 3.0}
    tokens = word_tokens("not a good", None, TOKENIZER, 16)
    orders = uncovering_orders(3, 12, seed=0)
    scores = [sum(worth.get(word, 0.0) for word in row.split()) + 0.5 for row in spell_rows(tokens, orders)]
    assert word_shares(tokens, orders, scores).tolist() == pytest.approx([-2.0, 0.0, 3.0])


def test_dependent_words_share_their_gain():
    tokens = word_tokens("not good", None, TOKENIZER, 16)
    orders = uncovering_orders(2, 1, seed=0)
    scores = [4.0 if {"not", "good"} <= set(row.split()) else 0.0 for row in spell_rows(tokens, orders)]
    assert word_shares(tokens, orders, scores).tolist() == [2.0, 2.0]


def test_words_without_tokens_have_no_share():
    """The first text has three tokens left, and a control character has no token."""
    tokens = word_tokens("film \x07 a good film", "a film !", TOKENIZER, 8)
    assert tokens.is_second == (False,) * 5 + (True,) * 3
    assert tokens.seen.tolist() == [0, 2, 3, 5, 6]
    assert tokens.segment_ids.tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    orders = uncovering_orders(5, 1, seed=0)
    shares = word_shares(tokens, orders, np.arange(2 + 2 * 4))
    assert shares[[1, 4, 7]].tolist() == [0.0, 0.0, 0.0]
    assert shares.sum() == pytest.approx(-1.0)
    empty = word_tokens("", None, TOKENIZER, 8)
    assert word_shares(empty, uncovering_orders(0, 1, seed=0), [1.0, 1.0]).tolist() == []


def test_orders():
    assert len(uncovering_orders(10, 1, seed=0)) == 2
    assert len(uncovering_orders(10, 60, seed=0)) == 6
    assert len(uncovering_orders(2, 10_000, seed=0)) == 2 * MOST_PAIRS
    for forward, backward in zip(*[iter(uncovering_orders(7, 100, seed=3))] * 2, strict=True):
        assert forward[::-1].tolist() == backward.tolist()
        assert sorted(forward.tolist()) == list(range(7))


@settings(max_examples=60, deadline=None)
@given(st.text(), st.none() | st.text(), st.integers(5, 12), st.randoms(use_true_random=False))
def test_first_row_is_the_text_and_shares_add_up(text, second, length, random):
    tokens = word_tokens(text, second, TOKENIZER, length)
    ids = TOKENIZER.encode(text), None if second is None else TOKENIZER.encode(second)
    packed = pack(*ids, length, TOKENIZER.ids["[CLS]"], TOKENIZER.ids["[SEP]"])
    assert (tokens.token_ids.tolist(), tokens.segment_ids.tolist()) == (packed.token_ids, packed.segment_ids)
    orders = uncovering_orders(len(tokens.seen), 20, seed=1)
    scores = np.array([random.uniform(-5, 5) for _ in range(len(masked_rows(tokens, orders, TOKENIZER)))])
    expected = scores[0] - scores[1] if len(tokens.seen) else 0.0
    assert word_shares(tokens, orders, scores).sum() == pytest.approx(expected, abs=1e-9)
