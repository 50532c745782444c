"""Explanations as objects: their colors, their table, and texts in a notebook."""

import pytest

from bert_cli.api.inputs.texts import read_texts_argument
from bert_cli.api.results.explanation import Explanations, make_explanation

RECORD = {
    "text": "a <b>",
    "text_b": "dull",
    "label": "bad",
    "probability": 0.75,
    "score": 1.0,
    "masked_score": 0.5,
    "words": [
        {"word": "a", "share": 0.25},
        {"word": "<b>", "share": -0.5},
        {"word": "dull", "share": 0.75, "text_b": True},
    ],
}


def test_an_explanation():
    explanation = make_explanation(RECORD)
    assert explanation.record() == RECORD
    assert explanation.prediction == {"label": "bad", "probability": 0.75}
    assert sum(explanation.shares) == explanation.score - explanation.masked_score
    frame = explanation.to_frame()
    assert frame["word"].tolist() == ["a", "<b>", "dull"]
    assert frame["share"].tolist() == [0.25, -0.5, 0.75]
    assert frame["text_b"].tolist() == [False, False, True]
    assert repr(explanation).splitlines()[:2] == [
        "Explanation: label bad, probability 0.750, score +1.000",
        "    +0.750  dull",
    ]


def test_labels_have_their_type():
    record = {"words": [], "text": "", "score": 0.0, "masked_score": 0.0, "labels": ["1"], "explained_label": "1"}
    assert make_explanation(record, {"1": 1}).prediction == {"labels": [1], "explained_label": 1}
    assert make_explanation(RECORD, {"bad": 0}).prediction["label"] == 0


def test_colors_are_relative_to_the_largest_share():
    html = make_explanation(RECORD)._repr_html_()
    assert html.count("rgba(22, 140, 84") == 2
    assert "rgba(206, 58, 58, 0.40)" in html
    assert "&lt;b&gt;" in html
    assert "<style" not in html


def test_several_explanations():
    single = {name: value for name, value in RECORD.items() if name != "text_b"} | {"words": RECORD["words"][:2]}
    explanations = Explanations(read_texts_argument(["a <b>", "a <b>"]), [make_explanation(single)] * 2)
    frame = explanations.to_frame()
    assert frame.index.tolist() == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert list(frame) == ["word", "share"]
    assert explanations[0]._repr_html_() in explanations._repr_html_()
    assert "text_b" not in explanations[0].to_frame()
    assert repr(explanations).splitlines()[1] == "  label bad, probability 0.750, score +1.000  a <b>"


@pytest.mark.parametrize("shares", [[], [0.0]])
def test_words_without_influence(shares):
    record = RECORD | {"words": [{"word": "a", "share": share} for share in shares]}
    assert make_explanation(record)._repr_html_().count("rgba(206, 58, 58, 0.00)") == len(shares)
