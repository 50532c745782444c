"""The server's first protocol: one item or several, and models by name."""

import pytest


def test_one_text_and_several(application):
    assert application.post("/predict", {"text": "a b"})[1] == {
        "index": 0,
        "text": "a b",
        "label": "a",
        "probabilities": {"no": 0.0, "yes": 1.0},
    }
    status, answer = application.post("/predict", {"texts": ["a", ["bc", "d"]], "model": "first"})
    assert (status, [(row["index"], row["label"]) for row in answer["predictions"]]) == (200, [(0, "a"), (1, "bc")])


@pytest.mark.parametrize(
    ("body", "fragment"),
    [
        ({"texts": ["a"], "text": "b"}, "'text' is unknown; this request takes 'model', 'texts'"),
        ({"text": "a", "threshold": 1}, "'threshold' is unknown"),
        ({}, "'text' is missing"),
        ({"texts": ["a", {"text": "b", "model": "numbers"}]}, "texts[1]: 'model' is unknown"),
    ],
)
def test_other_members_are_refused(application, body, fragment):
    status, answer = application.post("/predict", body)
    assert (status, fragment in answer["error"]["message"]) == (400, True)


def test_models_without_explanations(application):
    status, answer = application.post("/explain", {"text": "a", "model": "vectors"})
    assert (status, "classifiers are explained" in answer["error"]["message"]) == (400, True)


def test_late_and_ending(application):
    assert application.get("/ready") == (200, {"status": "ready"})
    application.state.is_ending = True
    try:
        assert application.get("/ready") == (503, {"status": "ending"})
    finally:
        application.state.is_ending = False
