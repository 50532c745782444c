"""Features of pairs: one sequence per text, rows of equal width, and ids of equal texts."""

from array import array

import numpy as np

from bert_cli.examples.table_texts import PairRow
from bert_cli.features.packing import NOT_CUT
from bert_cli.features.ragged import RaggedFeatures, row_lengths
from bert_cli.features.vectors import TextSequences, pair_features

PAIRS = [
    PairRow(2, "aa", "bbb", ("c", "dddd")),
    PairRow(3, "bbb", "e", ("aa",)),
    PairRow(4, "aa", "f", ()),
]


def encode(texts) -> TextSequences:
    """Return a token per character."""
    assert len(set(texts)) == len(texts), "each text is tokenized once"
    ids, segments, offsets = array("i"), array("b"), array("q", [0])
    for text in texts:
        ids.extend(map(ord, text))
        segments.extend([0] * len(text))
        offsets.append(len(ids))
    return TextSequences(RaggedFeatures.of(ids, segments, offsets), NOT_CUT)


def texts_of(batch: dict[str, np.ndarray]) -> list[list[str]]:
    rows = batch["input_word_ids"].tolist()
    return [["".join(map(chr, filter(None, text))) for text in row] for row in rows]


def test_a_missing_negative_repeats_the_positive():
    features = pair_features(PAIRS, encode)
    batch = features.batch(np.array([0, 1, 2]))
    assert texts_of(batch) == [["aa", "bbb", "c", "dddd"], ["bbb", "e", "aa", "e"], ["aa", "f", "f", "f"]]
    ids = batch["text_ids"]
    assert ids[1, 0] == ids[0, 1]
    assert ids[2, 1] == ids[2, 2] == ids[2, 3]
    assert len(set(ids.reshape(-1).tolist())) == 6
    assert batch["input_mask"].shape == (3, 4, 4)
    assert row_lengths(features).tolist() == [4, 3, 2]


def test_rows_are_taken_with_their_texts():
    taken = pair_features(PAIRS, encode).take(np.array([2, 0]))
    assert len(taken) == 2
    batch = taken.batch(np.array([1]), width=5)
    assert texts_of(batch) == [["aa", "bbb", "c", "dddd"]]
    assert batch["input_word_ids"].shape == (1, 4, 5)


def test_scores():
    features = pair_features([PairRow(1, "a", "b", score=0.5), PairRow(2, "b", "c", score=-1.0)], encode)
    np.testing.assert_array_equal(features.batch(np.array([1, 0]))["scores"], [-1, 0.5])
    assert features.text_ids.shape == (2, 2)
