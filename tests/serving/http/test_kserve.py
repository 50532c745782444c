"""KServe's protocol: health, metadata, and tensors as JSON and as binary data."""

import json
import struct

import numpy as np
import pytest

INFER = "/v2/models/first/infer"


def tensor(name: str = "text", data=("a b", "c d"), shape=None, **members) -> dict:
    values = {"name": name, "datatype": "BYTES", "shape": shape or [len(data)], "data": list(data)}
    return values | members


def test_health_and_metadata(application):
    assert application.get("/v2/health/live") == (200, {"live": True})
    assert application.get("/v2/health/ready") == (200, {"ready": True})
    assert application.get("/v2")[1]["extensions"] == ["binary_tensor_data"]
    for path in ("/v2/models/first", "/v2/models/first/versions/1"):
        assert application.get(f"{path}/ready") == (200, {"name": "first", "ready": True})
        status, model = application.get(path)
        assert (status, model["name"], model["versions"], model["platform"]) == (200, "first", ["1"], "bert_cli")
        assert model["inputs"] == [{"name": name, "datatype": "BYTES", "shape": [-1]} for name in ("text", "text_b")]
        assert model["outputs"] == [
            {"name": "label", "datatype": "BYTES", "shape": [-1]},
            {"name": "probabilities", "datatype": "FP32", "shape": [-1, 2]},
        ]
    for path in ("/v2/models/none", "/v2/models/none/ready", "/v2/models/first/versions/2"):
        status, answer = application.get(path)
        assert (status, type(answer["error"])) == (404, str)


def test_an_ending_server_is_not_ready(application):
    application.state.is_ending = True
    try:
        assert application.get("/v2/health/ready") == (503, {"ready": False})
        assert application.get("/v2/health/live")[0] == 200
    finally:
        application.state.is_ending = False


@pytest.mark.parametrize("shape", [[2], [2, 1]])
def test_tensors(application, shape):
    second = tensor("text_b", [["a b"], ["c e"]] if len(shape) == 2 else ["a b", "c e"], shape)
    body = {"id": "7", "inputs": [tensor(shape=shape), second]}
    status, answer = application.post(INFER, body)
    assert (status, answer["id"], answer["model_name"], answer["model_version"]) == (200, "7", "first", "1")
    assert answer["outputs"] == [
        {"name": "label", "datatype": "BYTES", "shape": [2], "data": ["a", "c"]},
        {"name": "probabilities", "datatype": "FP32", "shape": [2, 2], "data": [0.0, 1.0, 0.5, 0.5]},
    ]


def test_chosen_outputs(application):
    body = {"inputs": [tensor()], "outputs": [{"name": "probabilities"}]}
    assert [output["name"] for output in application.post(INFER, body)[1]["outputs"]] == ["probabilities"]
    answer = application.post("/v2/models/vectors/versions/1/infer", {"inputs": [tensor()]})[1]
    assert answer["outputs"] == [{"name": "embedding", "datatype": "FP32", "shape": [2, 2], "data": [3.0, 3.0] * 2}]


def packed(*texts: bytes) -> bytes:
    return b"".join(struct.pack("<I", len(text)) + text for text in texts)


def infer_binary(application, body: dict, data: bytes, length: int | str | None = None):
    head = json.dumps(body).encode()
    header = str(len(head) if length is None else length)
    return application.send("POST", INFER, head + data, inference_header_content_length=header)


def binary_tensor(data: bytes, name: str = "text", count: int = 2) -> dict:
    parameters = {"binary_data_size": len(data)}
    return {"name": name, "datatype": "BYTES", "shape": [count], "parameters": parameters}


def test_binary_data(application):
    first, second = packed("é b".encode(), b"c d"), packed(b"a", b"c e")
    inputs = [binary_tensor(first), binary_tensor(second, "text_b")]
    body = {"inputs": inputs, "parameters": {"binary_data_output": True}}
    status, headers, received = infer_binary(application, body, first + second)
    assert (status, headers["content-type"]) == (200, "application/octet-stream")
    length = int(headers["inference-header-content-length"])
    label, probabilities = json.loads(received[:length])["outputs"]
    size = label["parameters"]["binary_data_size"]
    assert received[length : length + size] == packed("é".encode(), b"c")
    rest = received[length + size :]
    assert probabilities["parameters"]["binary_data_size"] == len(rest)
    assert np.frombuffer(rest, "<f4").tolist() == [1.0, 0.0, 0.5, 0.5]


def test_one_binary_output(application):
    data = packed(b"a", b"b")
    outputs = [{"name": "label", "parameters": {"binary_data": False}}, {"name": "probabilities"}]
    body = {"inputs": [binary_tensor(data)], "outputs": outputs, "parameters": {"binary_data_output": True}}
    _, headers, received = infer_binary(application, body, data)
    label, probabilities = json.loads(received[: int(headers["inference-header-content-length"])])["outputs"]
    assert label["data"] == ["a", "b"]
    assert "data" not in probabilities


DATA = packed(b"a", b"b")


@pytest.mark.parametrize(
    ("inputs", "data", "length", "fragment"),
    [
        ([binary_tensor(DATA)], DATA, 10**6, "is no length within the body"),
        ([binary_tensor(DATA)], DATA, "x", "is no length within the body"),
        ([binary_tensor(DATA)], DATA[:-1], None, "binary_data_size 10 is no length"),
        ([binary_tensor(DATA)], DATA + b"a", None, "1 bytes follow"),
        ([binary_tensor(DATA[:-1])], DATA[:-1], None, "ends within a text"),
        ([binary_tensor(DATA[:2])], DATA[:2], None, "ends within a text"),
        ([binary_tensor(packed(b"\xff"), count=1)], packed(b"\xff"), None, "not UTF-8"),
        ([binary_tensor(DATA, count=3)], DATA, None, "the shape has 3 texts, and the data has 2"),
        ([binary_tensor(b"") | {"parameters": {"binary_data_size": -1}}], b"", None, "is no length"),
        ([binary_tensor(b"") | {"parameters": {"binary_data_size": "1"}}], b"", None, "is no length"),
        ([tensor(parameters={"binary_data_size": len(DATA)})], DATA, None, "both 'data' and binary_data_size"),
        ([tensor(parameters={"binary_data_size": 0})], b"", None, "both 'data' and binary_data_size"),
        ([tensor(parameters=[])], b"", None, "'parameters' is not an object"),
        ([tensor(datatype="FP32")], b"", None, "the datatype 'FP32' is not BYTES"),
        ([tensor(shape=[2, 2])], b"", None, "neither [n] nor [n, 1]"),
        ([tensor(shape=[-1])], b"", None, "neither [n] nor [n, 1]"),
        ([tensor(shape=[True])], b"", None, "neither [n] nor [n, 1]"),
        ([tensor(data=["a", 1])], b"", None, "'text' is not a text"),
        ([tensor(shape=[3])], b"", None, "the shape has 3 texts, and the data has 2"),
        ([tensor() | {"data": "a"}], b"", None, "'data' is not a list"),
        ([tensor(), tensor()], b"", None, "'text' is there twice"),
        ([tensor(), tensor("model")], b"", None, "'model' is unknown"),
        ([tensor("other")], b"", None, "'other' is unknown"),
        ([tensor(other=1)], b"", None, "'other' is unknown"),
        (["a"], b"", None, "inputs[0]"),
        ([], b"", None, "a list of tensors is needed"),
    ],
)
def test_wrong_tensors(application, inputs, data, length, fragment):
    status, _, received = infer_binary(application, {"inputs": inputs}, data, length)
    assert (status, fragment in json.loads(received)["error"]) == (400, True), received


@pytest.mark.parametrize("outputs", ["label", [{"name": "none"}], ["label"], [{}]])
def test_wrong_outputs(application, outputs):
    status, answer = application.post(INFER, {"inputs": [tensor()], "outputs": outputs})
    assert (status, "label, probabilities" in answer["error"]) == (400, True)
