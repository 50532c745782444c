"""Which words of a text matter to a model: rows in which words are masked, and the share of each
word in the score.

The method is occlusion with [MASK], in the fair way of Shapley's value: the words of an all-masked
text are uncovered one by one, in some orders, and the share of a word is by how much the score
rises when its turn comes, the mean over the orders. So the shares of all words add up to the score
of the text minus the score of the masked text, whatever the model is, and no gradient is needed.
Orders come in pairs, one the other backwards, which takes most of the chance out of a few of them.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bert_cli.features.cuts import Cuts
from bert_cli.features.packing import pack
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.text.tokenization import FullTokenizer, chunks
from bert_cli.text.vocabulary import CLS, MASK, SEP

_SPECIAL = -1
MOST_PAIRS = 8  # of orders


class WordTokens(NamedTuple):
    """One or two texts as the model reads them.

    words        of text a, then of text b: what white space separates
    is_second    of which text each is
    token_ids    list of T ids; segment_ids
    word_of      int [T], the word of each token, -1 for [CLS] and [SEP]
    seen         the words with a piece among the tokens, ascending: the others were cut, or have none
    cuts         tokens that the text lost to max_seq_length
    """

    words: tuple[str, ...]
    is_second: tuple[bool, ...]
    token_ids: np.ndarray
    segment_ids: np.ndarray
    word_of: np.ndarray
    seen: np.ndarray
    cuts: Cuts


def word_tokens(text_a: str, text_b: str | None, tokenizer: FullTokenizer, max_seq_length: int) -> WordTokens:
    """Return the tokens of a text or a pair, cut as features.classification does."""
    first = chunks(text_a)
    second = chunks(text_b) if text_b else []
    words = (*first, *second)
    pieces = [tokenizer.encode(word) for word in words]
    owners = [[number] * len(ids) for number, ids in enumerate(pieces)]

    def joined(lists: Sequence[Sequence[int]]) -> tuple[list[int], list[int] | None]:
        texts = lists[: len(first)], lists[len(first) :]
        one, other = (list(itertools.chain.from_iterable(part)) for part in texts)
        return one, other or None

    packed = pack(*joined(pieces), max_seq_length, tokenizer.ids[CLS], tokenizer.ids[SEP])
    # Packed like the tokens, so that words are cut where their pieces are.
    word_of = np.array(pack(*joined(owners), max_seq_length, _SPECIAL, _SPECIAL).token_ids)
    return WordTokens(
        words=words,
        is_second=(False,) * len(first) + (True,) * len(second),
        token_ids=np.array(packed.token_ids, np.int32),
        segment_ids=np.array(packed.segment_ids, np.int8),
        word_of=word_of,
        seen=np.unique(word_of[word_of >= 0]),
        cuts=Cuts(1, int(packed.num_cut > 0), sum(map(len, pieces)), packed.num_cut),
    )


def uncovering_orders(count: int, budget: int, seed: int) -> list[np.ndarray]:
    """Orders of `count` words, in pairs: as many as `budget` rows allow, one pair at least,
    MOST_PAIRS at most.
    """
    # An order needs a row for each word, and orders come in pairs.
    pairs = min(MOST_PAIRS, max(1, budget // (2 * max(1, count))))
    generator = np.random.default_rng(seed)
    # The first pair needs no luck: the order of the text, and backwards.
    orders = [np.arange(count), *(generator.permutation(count) for _ in range(pairs - 1))]
    return [order for forward in orders for order in (forward, forward[::-1])]


def masked_rows(tokens: WordTokens, orders: Sequence[np.ndarray], tokenizer: FullTokenizer) -> RaggedFeatures:
    """The text, the text with all words masked, and then, for each order, the text with 1, 2, …
    words uncovered, but not all.

    Each is as long as the text: a [MASK] for each piece.
    """
    # [CLS] and [SEP] stay: the model has never seen a text without them.
    covered = np.where(tokens.word_of >= 0, tokenizer.ids[MASK], tokens.token_ids)
    rows = [tokens.token_ids, covered]
    for order in orders:
        row = covered
        for word in tokens.seen[order][:-1]:
            row = np.where(tokens.word_of == word, tokens.token_ids, row)
            rows.append(row)
    return RaggedFeatures(
        np.concatenate(rows).astype(np.int32),
        np.tile(tokens.segment_ids, len(rows)),
        np.arange(len(rows) + 1, dtype=np.int64) * len(covered),
    )


def word_shares(tokens: WordTokens, orders: Sequence[np.ndarray], scores: np.ndarray) -> np.ndarray:
    """The share of each word, float64 [words]; scores: float [rows] of masked_rows.

    They add up to scores[0] − scores[1]; a word that the model does not see has none.
    """
    shares = np.zeros(len(tokens.words))
    scores = np.asarray(scores, np.float64)
    count = len(tokens.seen)
    row = 2
    if not count:
        return shares
    for order in orders:
        steps = np.concatenate([scores[1:2], scores[row : row + count - 1], scores[:1]])
        shares[tokens.seen[order]] += np.diff(steps)
        # The rows of the text and of the masked text are the ends of every order, and are computed
        # once.
        row += count - 1
    return shares / len(orders)
