"""Sequences of results, and the results of taggers, answers, masked words and vectors."""

import numpy as np
import pandas as pd
import pytest

from bert_cli.api.inputs.texts import read_texts_argument
from bert_cli.api.results.answers import Answers, make_answer
from bert_cli.api.results.masked_words import Candidate, FilledTexts, make_filled_text
from bert_cli.api.results.sequence import shorten_text
from bert_cli.api.results.tags import TaggedText, TaggedTexts
from bert_cli.api.results.vectors import TokenFeatures, TokenVectors, make_vectors

SERIES = pd.Series(["a b", "c"], index=["x", "y"], name="line")


def test_every_text_has_a_result():
    with pytest.raises(RuntimeError, match="0 of 2 texts have a result"):
        FilledTexts(read_texts_argument(SERIES), [])


def test_many_results_are_cut_where_they_are_shown():
    texts = read_texts_argument(["a"] * 12)
    results = FilledTexts(texts, [make_filled_text({"text": "a", "masks": []})] * 12)
    assert repr(results).splitlines() == ["FilledTexts for 12 texts", *["  a  []"] * 10, "  …"]
    assert results._repr_html_().endswith("<p>… and 2 more</p>")
    assert shorten_text("a\n" * 50) == "a " * 29 + "a…"


def test_entities_are_the_rows_of_a_frame():
    entity = {"type": "PER", "text": "b", "start": 2, "end": 3, "score": 0.5}
    tagged = TaggedTexts(
        read_texts_argument(SERIES),
        [TaggedText("a b", ("a", "b"), ("O", "B-PER"), [entity]), TaggedText("c", ("c",), ("O",), [])],
    )
    assert tagged.entities == [[entity], []]
    assert tagged.tags == [("O", "B-PER"), ("O",)]
    frame = tagged.to_frame()
    assert frame.index.tolist() == ["x"]
    assert frame.iloc[0].to_dict() == entity
    assert list(tagged[1:].to_frame()) == list(frame)
    assert "PER: b" in repr(tagged)


def test_answers():
    record = {"id": "0", "question": "who ?", "answer": "Tom", "probability": 0.9, "start": 0, "end": 3}
    record |= {"sentence": "Tom left.", "nbest": []}
    questions = pd.DataFrame({"question": ["who ?"], "context": ["Tom left."]}, index=[5])
    answers = Answers(
        read_texts_argument(list(zip(*questions.to_dict("list").values(), strict=True))),
        [make_answer(record, "Tom left.")],
    )
    assert (answers.best, answers[0].context) == (["Tom"], "Tom left.")
    assert answers.to_frame()["answer"].tolist() == ["Tom"]


def test_masked_words():
    record = {"text": "a [MASK]", "masks": [[{"token": "b", "probability": 0.75}]], "next_sentence_probability": 0.5}
    filled = FilledTexts(read_texts_argument(["a [MASK]"]), [make_filled_text(record)])
    assert filled[0].masks == ((Candidate("b", 0.75),),)
    assert filled[0].tokens == ("b",)
    row = filled.to_frame().iloc[0]
    assert (row["tokens"], row["probabilities"], row["next_sentence_probability"]) == (("b",), (0.75,), 0.5)


def test_vectors_are_an_array_and_a_frame():
    vectors = make_vectors(np.array([[1, 2], [3, 4]], np.float32), read_texts_argument(SERIES))
    assert isinstance(vectors, np.ndarray)
    np.testing.assert_array_equal(vectors @ vectors.T, [[5, 11], [11, 25]])
    frame = vectors.to_frame()
    assert frame.loc["y"].tolist() == [3, 4]
    assert vectors[:1].to_frame().index.tolist() == [0]


def test_token_vectors():
    tokens = [TokenFeatures(["a", "b"], np.eye(2, dtype=np.float32)), TokenFeatures(["c"], np.ones((1, 2), np.float32))]
    results = TokenVectors(read_texts_argument(SERIES), tokens, 2)
    frame = results.to_frame()
    assert frame.index.tolist() == [("x", 0), ("x", 1), ("y", 0)]
    assert frame["token"].tolist() == ["a", "b", "c"]
    assert frame.loc[("y", 0)].tolist() == ["c", 1, 1]
    assert TokenVectors(read_texts_argument([]), [], 2).to_frame().shape == (0, 3)


def test_rows_are_chosen_as_in_an_array():
    texts = read_texts_argument(pd.Series(["a", "b", "c"], index=[7, 8, 9]))
    results = FilledTexts(texts, [make_filled_text({"text": text, "masks": []}) for text in "abc"])
    for index, expected in (
        ([True, False, True], "ac"),
        (np.array([False, True, False]), "b"),
        (pd.Series([True, False, True], index=[9, 8, 7]), "ac"),
        (np.array([2, 0, -1]), "cac"),
        ([], ""),
        (slice(None, None, -1), "cba"),
    ):
        chosen = results[index]
        assert type(chosen) is FilledTexts
        assert "".join(item.text for item in chosen) == expected
        assert chosen.to_frame()["text"].tolist() == list(expected) if expected else len(chosen) == 0
    assert results[np.int64(1)].text == "b"
    assert results[1:][[True, False]].to_frame().index.tolist() == [8]
    for wrong in ([True], np.ones(4, bool), [3]):
        with pytest.raises(IndexError):
            results[wrong]


def test_one_result_has_a_picture_and_a_table():
    filled = make_filled_text({"text": "a <[MASK]>", "masks": [[{"token": "<b>", "probability": 0.75}]]})
    assert filled.to_frame().values.tolist() == [[1, "<b>", 0.75]]
    assert repr(filled) == "FilledText: a <[MASK]>\n  [MASK] 1: <b> 0.750"
    assert "&lt;b&gt;" in filled._repr_html_()
    assert "<[MASK]>" not in filled._repr_html_()
    entities = [
        {"type": "LOC", "text": "c>d", "start": 6, "end": 9, "score": 0.25},
        {"type": "PER", "text": "<a", "start": 0, "end": 2, "score": 0.5},
    ]
    tagged = TaggedText("<a in c>d !", ("<a", "in", "c>d", "!"), ("B-PER", "O", "B-LOC", "O"), entities)
    assert tagged.to_frame()["type"].tolist() == ["LOC", "PER"]
    assert repr(tagged) == "TaggedText: <a in c>d !  [LOC: c>d, PER: <a]"
    picture = tagged._repr_html_()
    assert picture.index("&lt;a") < picture.index(" in ") < picture.index("c&gt;d") < picture.index(" !")
    assert TaggedText("no <b>", ("no", "<b>"), ("O", "O"), [])._repr_html_().endswith("no &lt;b&gt;</div>")
