"""Choice of masked tokens, and their replacements."""

import collections
import random

import pytest

from bert_cli.corpus.instances import group_words, make_masking, mask_tokens, num_predictions

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "sun", "##light", "##s", "rain", "##bow", "falls"]
IDS = {token: index for index, token in enumerate(VOCABULARY)}


def ids(text: str) -> list[int]:
    return [IDS[token] for token in text.split()]


def masking(max_predictions=20, prob=0.15, whole_word=False, vocabulary=IDS):
    return make_masking(vocabulary, max_predictions, prob, whole_word)


@pytest.mark.parametrize(
    ("num_tokens", "prob", "limit", "expected"),
    [
        (128, 0.15, 20, 19),
        (30, 0.15, 20, 4),  # 4.5 is rounded to the even 4
        (10, 0.15, 20, 2),  # and 1.5 to 2
        (5, 0.01, 20, 1),  # at least one
        (128, 0.15, 6, 6),
        (8, 1.0, 20, 8),
    ],
)
def test_num_predictions(num_tokens, prob, limit, expected):
    assert num_predictions(num_tokens, masking(limit, prob)) == expected


def test_random_ids_are_unique_in_order_of_first_lines():
    vocabulary = {}
    for index, token in enumerate(["[UNK]", "x", "[CLS]", "[SEP]", "[MASK]", "x", "##y"]):
        vocabulary[token] = index
    rules = masking(vocabulary=vocabulary)
    # x has the id of its last line and the position of its first.
    assert rules.random_ids == (0, 5, 2, 3, 4, 6)
    assert list(rules.is_inside) == [0, 0, 0, 0, 0, 0, 1]


def mask(token_ids, separator, rules, rng):
    """Mask a sequence of two texts, with the first [SEP] at `separator`."""
    candidates = [position for position in range(1, len(token_ids) - 1) if position != separator]
    return mask_tokens(token_ids, candidates, rules, rng)


def test_pieces_are_grouped_with_the_word_before_them():
    tokens = ids("[CLS] sun ##light ##s falls [SEP] rain ##bow [SEP]")
    assert group_words(tokens, [1, 2, 3, 4, 6, 7], masking().is_inside) == [[1, 2, 3], [4], [6, 7]]


def test_cut_word_is_grouped_across_the_separator():
    tokens = ids("[CLS] ##s falls [SEP] ##bow falls [SEP]")
    assert group_words(tokens, [1, 2, 4, 5], masking().is_inside) == [[1], [2, 4], [5]]


@pytest.mark.parametrize("whole_word", [False, True])
def test_labels_restore_the_text(whole_word):
    text = ids("[CLS] sun ##light ##s falls rain ##bow falls [SEP] rain falls sun ##s [SEP]")
    rng = random.Random(4)
    for _ in range(200):
        tokens = list(text)
        positions, labels = mask(tokens, 8, masking(5, 0.4, whole_word), rng)
        assert positions == sorted(set(positions))
        assert len(positions) <= 5
        assert not {0, 8, 13} & set(positions)
        for position, label in zip(positions, labels, strict=True):
            tokens[position] = label
        assert tokens == text


def test_all_predictions_are_used_without_whole_words():
    rng = random.Random(1)
    for _ in range(50):
        positions, _ = mask(ids("[CLS] sun ##light ##s [SEP] rain ##bow [SEP]"), 4, masking(3, 0.4), rng)
        assert len(positions) == 3


def test_whole_words_are_masked_completely():
    rng = random.Random(2)
    words = [{1, 2, 3}, {4}, {6, 7}]
    seen = collections.Counter()
    for _ in range(200):
        tokens = ids("[CLS] sun ##light ##s falls [SEP] rain ##bow [SEP]")
        positions, _ = mask(tokens, 5, masking(4, 0.45, whole_word=True), rng)  # round(9 × 0.45) = 4
        seen[tuple(positions)] += 1
        assert all(word <= set(positions) or not word & set(positions) for word in words)
    assert set(seen) == {(1, 2, 3, 4), (4, 6, 7)}  # all combinations that fit


def test_word_longer_than_max_predictions_is_never_masked():
    tokens = ids("[CLS] sun ##light ##s [SEP] rain ##bow [SEP]")
    assert mask(list(tokens), 4, masking(1, 0.15, whole_word=True), random.Random(0)) == ([], [])


def test_80_percent_become_mask_10_stay_10_become_random():
    vocabulary = IDS | {f"word{number}": len(IDS) + number for number in range(989)}
    rules = masking(100, 1.0, vocabulary=vocabulary)
    rng = random.Random(7)
    counts = collections.Counter()
    results = set()
    for _ in range(200):
        tokens = [IDS["[CLS]"], *[IDS["rain"]] * 50, IDS["[SEP]"], *[IDS["rain"]] * 50, IDS["[SEP]"]]
        positions, _ = mask(tokens, 51, rules, rng)
        assert len(positions) == 100
        for position in positions:
            token = tokens[position]
            counts["mask" if token == IDS["[MASK]"] else "kept" if token == IDS["rain"] else "random"] += 1
            results.add(token)
    # 20,000 draws have standard deviations of 57 and 42. [MASK] and "rain" are also random tokens, each
    # about twice.
    assert abs(counts["mask"] - 16000) < 230
    assert abs(counts["kept"] - 2000) < 170
    assert abs(counts["random"] - 2000) < 170
    assert len(results) > 800
    assert {IDS["[PAD]"], IDS["[CLS]"], IDS["##bow"]} & results  # any token can be drawn
