"""The protocol of Text Embeddings Inference: vectors, ranks and tokens."""

import math

import numpy as np
import pytest

from bert_cli.serving import service
from tests.serving.http.calls import Application, FakeVectors, make_model


def test_vectors(application):
    status, vectors = application.post("/embed", {"inputs": ["abcd", "a"]})
    assert status == 200
    np.testing.assert_allclose(vectors, [[0.8, 0.6], [1 / math.sqrt(10), 3 / math.sqrt(10)]], atol=1e-6)
    assert application.post("/embed", {"inputs": "abcd", "normalize": False})[1] == [[4.0, 3.0]]
    assert application.post("/embed", {"inputs": "ab", "normalize": False, "prompt_name": "query"})[1] == [[4.0, 3.0]]


def test_texts_that_must_not_be_cut(application):
    assert application.post("/embed", {"inputs": ["a", "long"]})[0] == 200
    status, answer = application.post("/embed", {"inputs": ["a", "long"], "truncate": False})
    assert (status, answer["error_type"], "4 tokens of text 1" in answer["error"]) == (413, "Validation", True)
    body = {"query": "a", "texts": ["a", "a long"], "truncate": False}
    for model in ("first", "vectors"):
        assert application.post("/rerank", body | {"model": model})[0] == 413
    query = {"query": "a long", "texts": ["a", "b"], "model": "vectors"}
    assert application.post("/rerank", query)[0] == 200
    status, answer = application.post("/rerank", query | {"truncate": False})
    assert (status, "4 tokens of the query exceed" in answer["error"]) == (413, True)


def test_vectors_of_length_1_cannot_be_had_otherwise(application, monkeypatch):
    monkeypatch.setattr(FakeVectors, "has_unit_length", True)
    status, answer = application.post("/embed", {"inputs": "a", "normalize": False})
    assert (status, "have length 1" in answer["error"]) == (400, True)


@pytest.mark.parametrize("is_raw", [False, True])
def test_classifiers_of_pairs_rank(application, is_raw):
    body = {"query": "a b", "texts": ["c d", "a b", "a d"], "raw_scores": is_raw, "return_text": True}
    ranks = application.post("/rerank", body)[1]
    assert [(rank["index"], rank["text"]) for rank in ranks] == [(1, "a b"), (2, "a d"), (0, "c d")]
    scores = [rank["score"] for rank in ranks]
    if is_raw:
        assert scores == pytest.approx([16.118, 0.0, -16.118], abs=0.001)
    else:
        assert scores == [1.0, 0.5, 0.0]


def test_models_with_one_output_rank(application):
    body = {"query": "a b", "texts": ["c d", "a b"], "model": "numbers"}
    assert application.post("/rerank", body)[1] == [
        {"index": 1, "score": pytest.approx(1 / (1 + math.exp(-2)))},
        {"index": 0, "score": 0.5},
    ]
    raw = application.post("/rerank", body | {"raw_scores": True})[1]
    assert [rank["score"] for rank in raw] == [2.0, 0.0]


def test_vectors_rank_with_their_prompts(application):
    # Vectors are (number of characters, 3), and both prompts have two characters.
    ranks = application.post("/rerank", {"query": "ab", "texts": ["abcdefgh", "cd"], "model": "vectors"})[1]
    assert [rank["index"] for rank in ranks] == [1, 0]
    assert ranks[0]["score"] == pytest.approx(1.0)
    assert ranks[1]["score"] == pytest.approx((4 * 10 + 9) / 5 / math.hypot(10, 3))


def test_ranks_in_the_form_of_jina(application):
    body = {"query": "a b", "documents": ["c d", {"text": "a b"}, "a d"], "top_n": 2, "return_documents": True}
    status, answer = application.post("/v1/rerank", body)
    assert (status, answer["model"]) == (200, "first")
    assert answer["results"] == [
        {"index": 1, "relevance_score": 1.0, "document": {"text": "a b"}},
        {"index": 2, "relevance_score": 0.5, "document": {"text": "a d"}},
    ]
    assert "document" not in application.post("/v1/rerank", {"query": "a", "documents": ["a"]})[1]["results"][0]


def test_models_that_cannot_rank(application):
    class ThreeLabels(type(application.service.models["first"])):
        def answer(self, items):
            return [{"probabilities": {"a": 0.2, "b": 0.3, "c": 0.5}} for _ in items]

    class SingleTexts(ThreeLabels):
        takes_pairs = False

    for model_class, fragment in ((ThreeLabels, "3 labels"), (SingleTexts, "classifies single texts")):
        opened = Application(make_model(model_class, "other"))
        status, answer = opened.post("/rerank", {"query": "a", "texts": ["a"]})
        opened.close()
        assert (status, fragment in answer["error"]) == (400, True)


def test_tokens_have_their_places(application):
    special = [
        {"id": number, "text": name, "special": True, "start": None, "stop": None}
        for number, name in ((101, "[CLS]"), (102, "[SEP]"))
    ]
    token = {"id": 7, "text": "ab", "special": False, "start": 0, "stop": 2}
    assert application.post("/tokenize", {"inputs": ["ab"]})[1] == [[special[0], token, special[1]]]
    assert application.post("/tokenize", {"inputs": "ab", "add_special_tokens": False})[1] == [[token]]
    (prompted,) = application.post("/tokenize", {"inputs": "ab", "prompt_name": "query"})[1]
    assert (prompted[1]["text"], prompted[1]["stop"]) == ("q ab", 4)


def test_too_many_tokens_are_refused(application, monkeypatch):
    monkeypatch.setattr(service, "_MAX_TOKENS", 6)
    assert len(application.post("/tokenize", {"inputs": ["ab", "cd"]})[1]) == 2
    status, answer = application.post("/tokenize", {"inputs": ["ab", "cd", "e"]})
    assert (status, answer["error"]) == (413, "inputs[2]: over 6 tokens so far; send fewer texts in a request")


@pytest.mark.parametrize(
    ("path", "body", "fragment"),
    [
        ("/embed", {}, "'inputs'"),
        ("/embed", {"inputs": []}, "'inputs'"),
        ("/embed", {"inputs": [[1, 2]]}, "token ids"),
        ("/embed", {"inputs": "a", "normalize": 1}, "'normalize' is neither true nor false"),
        ("/embed", {"inputs": "a", "truncation_direction": "Left"}, "'truncation_direction'"),
        ("/embed", {"inputs": "a", "prompt_name": "other"}, "it has query, passage"),
        ("/embed", {"inputs": "a", "dimensions": 3}, "have 2"),
        ("/embed", {"inputs": "a", "input": "a"}, "'input' is unknown"),
        ("/rerank", {"texts": ["a"]}, "'query' is not a text"),
        ("/rerank", {"query": "a", "texts": "a"}, "'texts' is not a list"),
        ("/rerank", {"query": "a", "texts": []}, "'texts'"),
        ("/rerank", {"query": "a", "texts": ["a"], "documents": ["a"]}, "'documents' is unknown"),
        ("/v1/rerank", {"query": "a", "documents": [{"title": "a"}]}, "'documents'"),
        ("/v1/rerank", {"query": "a", "documents": ["a"], "top_n": 0}, "'top_n'"),
        ("/v1/rerank", {"query": "a", "documents": ["a"], "top_n": True}, "'top_n'"),
        ("/tokenize", {"inputs": 7}, "'inputs'"),
        ("/tokenize", {"inputs": "a", "add_special_tokens": "no"}, "'add_special_tokens'"),
    ],
)
def test_wrong_requests(application, path, body, fragment):
    status, answer = application.post(path, body)
    assert (status, answer["error_type"], fragment in answer["error"]) == (400, "Validation", True), answer


def test_errors_name_their_type(application):
    assert application.post("/embed", {"inputs": "a", "model": "none"})[1]["error_type"] == "Validation"
    application.state.is_draining = True
    try:
        status, answer = application.post("/embed", {"inputs": "a"})
    finally:
        application.state.is_draining = False
    assert (status, answer["error_type"]) == (503, "Unhealthy")
