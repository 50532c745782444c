"""Explanation of a classifier's prediction: each word's share in a text's score.

The method is occlusion with [MASK], made fair with Shapley values. The words of a fully masked text
are uncovered one by one, in several orders. A word's share is the mean rise of the score when the
word is uncovered. So the shares add up to the text's score minus the masked text's score, for any
model and without gradients. Orders come in pairs, each with its reverse, which removes most of the
random error of few orders.
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.packing import CutCounts, pack
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.inference.rows import Predictor
from bert_cli.predicting.decoder import Decoder
from bert_cli.problem_types.columns import round_to_six_digits
from bert_cli.problem_types.optional_parts import require
from bert_cli.problem_types.parts import PredictionArrays
from bert_cli.text.tokenization import FullTokenizer, chunks
from bert_cli.text.vocabulary import CLS, MASK, SEP

BUDGET = 512  # masked copies per text, for --explain
_SPECIAL = -1
MOST_PAIRS = 8  # maximum number of order pairs


class WordTokens(NamedTuple):
    """One or two texts as the model reads them, with T tokens.

    Attributes:
        words: words of text a, then words of text b, separated by white space.
        is_second: whether each word is in text b.
        token_ids: int32 [T].
        segment_ids: int8 [T].
        word_of: int [T], word of each token, -1 for [CLS] and [SEP].
        seen: ascending indices of words with at least one token; words without pieces and cut words
            are missing.
        cuts: tokens that the text lost to max_seq_length.
    """

    words: tuple[str, ...]
    is_second: tuple[bool, ...]
    token_ids: np.ndarray
    segment_ids: np.ndarray
    word_of: np.ndarray
    seen: np.ndarray
    cuts: CutCounts


def word_tokens(text_a: str, text_b: str | None, tokenizer: FullTokenizer, max_seq_length: int) -> WordTokens:
    """Return the tokens of a text or a pair, cut as in features.classification.

    Args:
        text_a: the text, or a pair's first text.
        text_b: a pair's second text, or None.
        max_seq_length: maximum tokens, including special tokens.
    """
    first = chunks(text_a)
    second = chunks(text_b) if text_b else []
    words = (*first, *second)
    pieces = [tokenizer.encode(word) for word in words]
    word_numbers = [[number] * len(ids) for number, ids in enumerate(pieces)]

    def join(lists: Sequence[Sequence[int]]) -> tuple[list[int], list[int] | None]:
        texts = lists[: len(first)], lists[len(first) :]
        ids_a, ids_b = (list(itertools.chain.from_iterable(text_lists)) for text_lists in texts)
        return ids_a, ids_b or None

    packed = pack(*join(pieces), max_seq_length, tokenizer.ids[CLS], tokenizer.ids[SEP])
    # Pack word numbers like tokens, so that both are cut at the same positions.
    word_of = np.array(pack(*join(word_numbers), max_seq_length, _SPECIAL, _SPECIAL).token_ids)
    return WordTokens(
        words=words,
        is_second=(False,) * len(first) + (True,) * len(second),
        token_ids=np.array(packed.token_ids, np.int32),
        segment_ids=np.array(packed.segment_ids, np.int8),
        word_of=word_of,
        seen=np.unique(word_of[word_of >= 0]),
        cuts=CutCounts(1, int(packed.num_cut > 0), sum(map(len, pieces)), packed.num_cut),
    )


def text_record(text_a: str, text_b: str | None) -> dict[str, str]:
    """Return the keys for the text or pair in a JSON line with a prediction."""
    return {"text": text_a} | ({} if text_b is None else {"text_b": text_b})


class ExplanationPlan(NamedTuple):
    """The masked copies of a text, which a model has to score for an explanation.

    Attributes:
        tokens: the text's or pair's tokens, see word_tokens.
        orders: orders from uncovering_orders.
        copies: one row per masked copy, see masked_rows.
    """

    tokens: WordTokens
    orders: Sequence[np.ndarray]
    copies: RaggedFeatures


def plan_explanation(tokens: WordTokens, tokenizer: FullTokenizer, budget: int = BUDGET) -> ExplanationPlan:
    """Return the masked copies that explain a text.

    Args:
        tokens: the text's or pair's tokens, see word_tokens.
        budget: approximate number of masked copies.
    """
    # Use a fixed seed: the same text must have the same shares in every call.
    orders = uncovering_orders(len(tokens.seen), budget, seed=0)
    return ExplanationPlan(tokens, orders, masked_rows(tokens, orders, tokenizer))


def score_copies(predictor: Predictor, decoder: Decoder, copies: RaggedFeatures, batch_size: int) -> PredictionArrays:
    """Return a classifier's predictions for masked copies, which may be of several texts.

    Args:
        predictor: the opened model.
        decoder: decoder for the model's predictions.
        copies: one row per masked copy.
        batch_size: rows per batch.
    """
    ids = tuple(map(str, range(len(copies))))
    # The features need labels, but nothing reads the losses, so missing labels are enough.
    label_ids = decoder.problem_type.reader.label_array([None] * len(ids), decoder.labels.names)
    # Even for a model with windows, each masked copy is one sequence.
    return decoder.infer(predictor, ClassificationFeatures(copies, label_ids, ids), batch_size, None)


def explanation_record(
    plan: ExplanationPlan, decoder: Decoder, predictions: PredictionArrays, label: int | None = None
) -> dict[str, Any]:
    """Return the prediction for a text, and each word's share in the score.

    The result has these keys:

    label, probability                      prediction for single-label classification, with
                                            explained_label if another label was asked for
    labels, explained_label, probability    prediction for multi-label classification
    value                                   prediction for regression
    score, masked_score                     score of the text, without and with all words masked
    words                                   {"word", "share"} per word in text order, with
                                            "text_b": true for the second text

    The shares add up to score − masked_score.

    Args:
        plan: the text's masked copies.
        decoder: decoder for the model's predictions.
        predictions: the result of score_copies for these copies.
        label: index of the label to explain; None for the most probable one.
    """
    tokens = plan.tokens
    prediction, values = require(decoder.problem_type.explainer, "--explain").explained_score(
        predictions, decoder.labels, label
    )
    shares = word_shares(tokens, plan.orders, values)
    words: list[dict[str, Any]] = [
        {"word": word, "share": round_to_six_digits(share)} | ({"text_b": True} if is_second else {})
        for word, share, is_second in zip(tokens.words, shares.tolist(), tokens.is_second, strict=True)
    ]
    return prediction | {
        "score": round_to_six_digits(values[0]),
        "masked_score": round_to_six_digits(values[1]),
        "words": words,
    }


def explain(
    predictor: Predictor,
    decoder: Decoder,
    tokenizer: FullTokenizer,
    tokens: WordTokens,
    batch_size: int,
    budget: int = BUDGET,
) -> dict[str, Any]:
    """Return the prediction for a text, and each word's share in the score, see explanation_record.

    Args:
        predictor: the opened model.
        decoder: decoder for the model's predictions.
        tokens: the text's or pair's tokens, see word_tokens.
        batch_size: rows per batch.
        budget: approximate number of masked copies to predict.
    """
    plan = plan_explanation(tokens, tokenizer, budget)
    return explanation_record(plan, decoder, score_copies(predictor, decoder, plan.copies, batch_size))


def uncovering_orders(count: int, budget: int, seed: int) -> list[np.ndarray]:
    """Return orders of `count` words, in pairs: as many as `budget` rows allow.

    There is at least one pair, and there are at most MOST_PAIRS. `seed` is used for random orders.
    """
    # An order needs one row per word, and orders come in pairs.
    pairs = min(MOST_PAIRS, max(1, budget // (2 * max(1, count))))
    generator = np.random.default_rng(seed)
    # The first pair is not random: the text's order, and its reverse.
    orders = [np.arange(count), *(generator.permutation(count) for _ in range(pairs - 1))]
    return [order for forward in orders for order in (forward, forward[::-1])]


def masked_rows(tokens: WordTokens, orders: Sequence[np.ndarray], tokenizer: FullTokenizer) -> RaggedFeatures:
    """Return the text, the fully masked text, and the partly uncovered texts for each order.

    An order has a row with 1 word uncovered, a row with 2 words and so on, but no row with all
    words. All rows are as long as the text, because [MASK] replaces single word pieces.

    Args:
        tokens: the text.
        orders: orders from uncovering_orders.
    """
    # Keep [CLS] and [SEP]: the model has never seen a text without them.
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
    """Return each word's share in the score, float64 [words].

    The shares add up to scores[0] − scores[1]. A word that the model does not see has share 0.

    Args:
        tokens: the text.
        orders: orders used for masked_rows.
        scores: the model's scores for masked_rows, float [rows].
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
        # Every order ends with the same two rows, the text and the masked text, which are computed
        # once.
        row += count - 1
    return shares / len(orders)
