"""Terminal output of bert-classify --explain."""

import pytest

pytest.importorskip("rich")

from bert_cli.runs.tasks.classification.explanation import format_colored

REST = {"score": 1.0, "masked_score": 0.5, "words": [{"word": "dog", "share": 0.5}]}


@pytest.mark.parametrize(
    ("prediction", "first_line"),
    [
        ({"label": "ham", "probability": 0.75}, "ham  0.7500"),
        ({"value": 2.5}, "2.5000"),
        ({"labels": [], "explained_label": "rude", "probability": 0.25}, "labels: none; explained: rude  0.2500"),
        ({"labels": ["a", "b"], "explained_label": "a", "probability": 1.0}, "labels: a, b; explained: a  1.0000"),
    ],
)
def test_the_colored_text_begins_with_the_prediction(prediction, first_line):
    assert format_colored(prediction | REST).plain.split("\n")[0] == first_line
