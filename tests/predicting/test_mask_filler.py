"""Candidates for masks, as JSON and as lines."""

import numpy as np

from bert_cli.fill_mask import format_record
from bert_cli.predicting.mask_filler import fill_mask_record


def test_one_mask():
    record = fill_mask_record("a [MASK]", [["dog", "cat"]], np.array([[0.75, 0.1234567]]), None)
    assert record == {
        "text": "a [MASK]",
        "masks": [[{"token": "dog", "probability": 0.75}, {"token": "cat", "probability": 0.123457}]],
    }
    assert format_record(record) == ["a [MASK]", "  0.7500  dog", "  0.1235  cat"]


def test_several_masks_are_numbered():
    record = fill_mask_record("[MASK] [MASK]", [["a"], ["b"]], np.array([[0.5], [0.25]]), None)
    assert format_record(record) == ["[MASK] [MASK]", " [MASK] 1", "  0.5000  a", " [MASK] 2", "  0.2500  b"]


def test_pairs_have_the_next_sentence():
    record = fill_mask_record("a ||| b", [], np.zeros((0, 5)), 0.98765432)
    assert record == {"text": "a ||| b", "masks": [], "next_sentence_probability": 0.987654}
    assert format_record(record) == ["a ||| b", "  0.9877  the second text follows the first"]
