"""OpenAI's protocol: vectors as numbers and as base64, and the list of models."""

import base64
import json
import types

import numpy as np
import pytest

from bert_cli.serving.http.openai import embedding_answer, embedding_items
from bert_cli.serving.items import Embedding, Item
from bert_cli.serving.responses import RequestError
from bert_cli.settings.serving import Limits

LIMITS = Limits(max_texts=3, max_text_chars=10)
TEXTS = types.SimpleNamespace(
    name="texts", fields=("text", "text_b"), takes_pairs=True, vectors=types.SimpleNamespace(prompt_names=())
)


def test_vectors(application):
    body = {"input": ["abcd", "a"], "model": "vectors", "dimensions": 2, "prompt_name": "query"}
    status, answer = application.post("/v1/embeddings", body)
    assert (status, [row["embedding"] for row in answer["data"]]) == (200, [[6.0, 3.0], [3.0, 3.0]])
    status, answer = application.post("/v1/embeddings", body | {"dimensions": 3})
    assert (status, "have 2" in answer["error"]["message"]) == (400, True)


def test_models_are_listed(application):
    models = application.get("/v1/models")[1]["data"]
    assert [(model["id"], model["object"], model["kind"]) for model in models] == [
        ("first", "model", "classifier"),
        ("numbers", "model", "regression"),
        ("vectors", "model", "encoder"),
    ]


def test_embeddings_as_numbers_and_as_base64():
    vector = np.array([0.5, -0.25], np.float32)
    embeddings = [Embedding(vector, 3, 0), Embedding(vector, 4, 212)]
    plain = json.loads(embedding_answer(embeddings, {}, TEXTS))
    record = {"object": "embedding", "index": 0, "embedding": [0.5, -0.25]}
    assert plain["data"] == [record, record | {"index": 1, "cut": 212}]
    assert plain["usage"] == {"prompt_tokens": 7, "total_tokens": 7}
    answer = json.loads(embedding_answer(embeddings, {"encoding_format": "base64"}, TEXTS))
    coded = answer["data"][0]["embedding"]
    assert np.frombuffer(base64.b64decode(coded), "<f4").tolist() == [0.5, -0.25]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "a text or a list"),
        ({"input": []}, "a text or a list"),
        ({"input": [1, 2]}, "check_embedding_ctx_length"),
        ({"input": [[1, 2]]}, "check_embedding_ctx_length"),
        ({"input": "a", "encoding_format": "int8"}, "float or base64"),
        (
            {"input": "a", "encoding_fromat": "base64"},
            "'encoding_fromat' is unknown; this request takes 'model', 'input'",
        ),
        ({"input": "a", "normalize": False}, "'normalize' is unknown"),
        ({"input": "a", "prompt_name": "query"}, "has no prompt 'query'; it has none"),
    ],
)
def test_invalid_embedding_requests(body, message):
    with pytest.raises(RequestError, match=message):
        embedding_items(body, TEXTS, LIMITS)
    known = {"input": ["a", "b"], "user": "u", "model": "m", "dimensions": None, "prompt_name": None}
    assert embedding_items(known, TEXTS, LIMITS) == [Item("a", place="input[0]"), Item("b", place="input[1]")]
