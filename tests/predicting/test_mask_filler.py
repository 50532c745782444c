"""Candidates for masks, as JSON and as lines."""

from bert_cli.fill_mask import format_candidates
from bert_cli.predicting.mask_filler import candidate_entry, fill_mask_record


def test_one_mask():
    record = fill_mask_record("a [MASK]", [[candidate_entry("dog", 0.75), candidate_entry("cat", 0.1)]], None)
    assert record == {
        "text": "a [MASK]",
        "masks": [[{"token": "dog", "probability": 0.75}, {"token": "cat", "probability": 0.1}]],
    }
    assert format_candidates(record) == ["a [MASK]", "  0.7500  dog", "  0.1000  cat"]


def test_several_masks_are_numbered():
    record = fill_mask_record("[MASK] [MASK]", [[candidate_entry("a", 0.5)], [candidate_entry("b", 0.25)]], None)
    assert format_candidates(record) == ["[MASK] [MASK]", " [MASK] 1", "  0.5000  a", " [MASK] 2", "  0.2500  b"]


def test_pairs_have_the_next_sentence():
    record = fill_mask_record("a ||| b", [], 0.98765432)
    assert record == {"text": "a ||| b", "masks": [], "next_sentence_probability": 0.987654}
    assert format_candidates(record) == ["a ||| b", "  0.9877  the second text follows the first"]


def test_small_probabilities_are_not_shown_as_zero():
    record = fill_mask_record("[MASK]", [[candidate_entry("a", 0.00002345), candidate_entry("b", 0.0)]], None)
    assert format_candidates(record) == ["[MASK]", "  2e-05  a", "  0.0000  b"]
