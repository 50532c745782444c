"""TensorFlow Serving's protocol: rows, columns and metadata."""

import pytest

PREDICT = "/v1/models/first:predict"
ROWS = [["a b", "a b"], ["c d", "c e"]]
COLUMNS = {"text": ["a b", "c d"], "text_b": ["a b", "c e"]}


def test_columns_have_the_answers_of_rows(application):
    status, answer = application.post(PREDICT, {"inputs": COLUMNS, "signature_name": "serving_default"})
    assert (status, answer) == (200, {"outputs": {"label": ["a", "c"], "probabilities": [[0.0, 1.0], [0.5, 0.5]]}})
    rows = application.post(PREDICT, {"instances": ROWS})[1]["predictions"]
    assert [row["label"] for row in rows] == answer["outputs"]["label"]
    assert [list(row["probabilities"].values()) for row in rows] == answer["outputs"]["probabilities"]


def test_a_list_is_the_first_column(application):
    expected = application.post(PREDICT, {"inputs": {"text": ["a b"]}})
    assert application.post("/v1/models/first/versions/1:predict", {"inputs": ["a b"]}) == expected


def test_one_output_has_no_name(application):
    assert application.post("/v1/models/numbers:predict", {"inputs": COLUMNS})[1] == {"outputs": [2.0, 1.0]}


def test_an_encoder_answers_with_vectors(application):
    assert application.post("/v1/models/vectors:predict", {"inputs": ["abcd"]})[1] == {"outputs": [[4.0, 3.0]]}
    rows = application.post("/v1/models/vectors:predict", {"instances": ["abcd"]})[1]["predictions"]
    assert rows == [{"index": 0, "embedding": [4.0, 3.0]}]


@pytest.mark.parametrize(
    ("body", "fragment"),
    [
        ({}, "'instances' (rows) or 'inputs' (columns) is needed"),
        ({"instances": ["a"], "inputs": ["a"]}, "and not both"),
        ({"inputs": "a"}, "'inputs': a list of texts, or an object"),
        ({"inputs": {}}, "'text' is missing"),
        ({"inputs": {"text": "a"}}, "'text' is not a list"),
        ({"inputs": {"text": ["a", "b"], "text_b": ["a"]}}, "'text' has 2, 'text_b' has 1"),
        ({"inputs": {"text": ["a"], "other": ["a"]}}, "'other' is unknown"),
        ({"inputs": {"text_b": ["a"]}}, "'text' is missing"),
        ({"inputs": {"text": ["a"], "model": ["numbers"]}}, "'model' is unknown"),
        ({"instances": [{"text": "a", "model": "numbers"}]}, "instances[0]: 'model' is unknown"),
        ({"inputs": ["a", 1]}, "'inputs'[1]"),
        ({"inputs": ["a"], "signature_name": "other"}, "there is only 'serving_default'"),
        ({"inputs": ["a"], "text": "a"}, "'text' is unknown"),
    ],
)
def test_wrong_requests(application, body, fragment):
    status, answer = application.post(PREDICT, body)
    assert (status, fragment in answer["error"]) == (400, True), answer


def test_metadata_name_inputs_and_outputs(application):
    metadata = application.get("/v1/models/first/metadata")[1]
    assert metadata == application.get("/v1/models/first/versions/1/metadata")[1]
    assert metadata["model_spec"] == {"name": "first", "signature_name": "", "version": "1"}
    signature = metadata["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert {name: tensor["dtype"] for name, tensor in signature["inputs"].items()} == {
        "text": "DT_STRING",
        "text_b": "DT_STRING",
    }
    sizes = {
        name: (tensor["dtype"], [size["size"] for size in tensor["tensor_shape"]["dim"]])
        for name, tensor in signature["outputs"].items()
    }
    assert sizes == {"label": ("DT_STRING", ["-1"]), "probabilities": ("DT_FLOAT", ["-1", "2"])}


def test_errors_are_texts(application):
    for path in ("/v1/models/none", "/v1/models/none/metadata", "/v1/models/first/versions/2"):
        status, answer = application.get(path)
        assert (status, type(answer["error"])) == (404, str)
    status, answer = application.post("/v1/models/first:classify", {})
    assert (status, "':predict" in answer["error"] or ":predict" in answer["error"]) == (404, True)
