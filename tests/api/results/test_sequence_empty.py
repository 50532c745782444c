"""Results without rows have DataFrames with the usual columns and types, so several parts make one table."""

import numpy as np
import pandas as pd
import pytest

from bert_cli.api.inputs.texts import QUESTIONS, read_texts_argument
from bert_cli.api.results.answers import Answers, make_answer
from bert_cli.api.results.explanation import Explanation, Explanations
from bert_cli.api.results.masked_words import Candidate, FilledText, FilledTexts, ScoredText, ScoredTexts, ScoredToken
from bert_cli.api.results.pieces import Pieces
from bert_cli.api.results.predictions import Predictions
from bert_cli.api.results.tags import TaggedText, TaggedTexts
from bert_cli.api.results.vectors import TokenFeatures, TokenVectors
from bert_cli.text.offsets import Piece

TEXT = "a film"
ENTITY = {"type": "PER", "text": "a", "start": 0, "end": 1, "score": 0.5}
ANSWER = {
    "question": "who ?", "answer": "a", "probability": 0.5, "start": 0, "end": 1, "sentence": "a film", "nbest": [],
}  # fmt: skip
PROBABILITIES = np.float32([[0.2, 0.8]])


def predictions(texts, best, labels, thresholds=None):
    rows = PROBABILITIES[: len(texts)]
    return Predictions(texts, labels, best[: len(texts)], rows, rows, None, thresholds, thresholds is not None)


# Name -> a function from one or no text to a result.
RESULTS = {
    "labels": lambda texts: predictions(texts, ["good"], ("bad", "good")),
    "labels of numbers": lambda texts: predictions(texts, [3], (1, 3)),
    "sets of labels": lambda texts: predictions(texts, [("good",)], ("bad", "good"), thresholds=np.full(2, 0.5)),
    "numbers": lambda texts: Predictions(
        texts, (), [], np.zeros((len(texts), 0), np.float32), None, np.ones(len(texts), np.float32)
    ),
    "explanations": lambda texts: Explanations(
        texts,
        [Explanation(TEXT, None, {"label": "good"}, 0.5, 0.1, ("a", "film"), (0.1, 0.3), (False, False))][: len(texts)],
    ),
    "masks": lambda texts: FilledTexts(texts, [FilledText(TEXT, ((Candidate("a", 0.5),),), None)][: len(texts)]),
    "scores": lambda texts: ScoredTexts(texts, [ScoredText(TEXT, -1.5, 2.5, (ScoredToken("a", -1.5),))][: len(texts)]),
    "tags": lambda texts: TaggedTexts(texts, [TaggedText(TEXT, ("a", "film"), ("B-PER", "O"), [ENTITY])][: len(texts)]),
    "answers": lambda texts: Answers(texts, [make_answer(ANSWER, TEXT)][: len(texts)]),
    "token vectors": lambda texts: TokenVectors(
        texts, [TokenFeatures(["[CLS]", "a"], np.ones((2, 4), np.float32))][: len(texts)], 4
    ),
}


def types_of(frame):
    levels = [str(frame.index.get_level_values(level).dtype) for level in range(frame.index.nlevels)]
    return [(str(name), str(column.dtype)) for name, column in frame.items()], levels, list(frame.index.names)


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("source", ["list", "series", "table"])
def test_a_frame_without_rows_has_the_types_of_a_full_one(name, source):
    if name == "answers":
        full, empty = read_texts_argument([("who ?", TEXT)], QUESTIONS), read_texts_argument([], QUESTIONS)
    else:
        texts = {
            "list": [TEXT],
            "series": pd.Series([TEXT], index=["x"]),
            "table": pd.DataFrame({"text": [TEXT], "number": [1]}, index=[7]),
        }[source]
        full, empty = read_texts_argument(texts), read_texts_argument(texts[:0])
    make = RESULTS[name]
    assert types_of(make(full).to_frame()) == types_of(make(empty).to_frame())
    assert types_of(make(full)[:0].to_frame()) == types_of(make(full).to_frame())


def test_items_without_rows():
    word = Explanation(TEXT, None, {}, 0.5, 0.1, ("a",), (0.1,), (False,))
    none = Explanation("", None, {}, 0.5, 0.1, (), (), ())
    assert types_of(word.to_frame()) == types_of(none.to_frame())
    tags = (("a", "film"), ("O", "O"))
    assert types_of(TaggedText(TEXT, *tags, [ENTITY]).to_frame()) == types_of(TaggedText(TEXT, *tags, []).to_frame())
    assert types_of(Pieces(TEXT, [Piece("a", 7, 0, 1)]).to_frame()) == types_of(Pieces("", []).to_frame())
