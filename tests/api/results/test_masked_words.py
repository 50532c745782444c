"""Candidates as items and columns."""

from bert_cli.api.inputs.texts import read_texts_argument
from bert_cli.api.results.masked_words import Candidate, FilledTexts, make_filled_text

RECORD = {"text": "a [MASK]", "masks": [[{"token": "dog", "probability": 0.75}, {"token": "cat", "probability": 0.25}]]}


def test_candidates():
    filled = FilledTexts(read_texts_argument(["a [MASK]"]), [make_filled_text(RECORD)])
    assert filled[0].masks == ((Candidate("dog", 0.75), Candidate("cat", 0.25)),)
    assert filled.columns() == {"tokens": [("dog",)], "probabilities": [(0.75,)]}
    assert repr(filled) == "FilledTexts for 1 text\n  a [MASK]  [dog]"


def test_pairs_have_a_probability():
    record = RECORD | {"next_sentence_probability": 0.5}
    filled = FilledTexts(read_texts_argument(["a", "b"]), [make_filled_text(record), make_filled_text(RECORD)])
    assert filled.columns()["next_sentence_probability"] == [0.5, None]
