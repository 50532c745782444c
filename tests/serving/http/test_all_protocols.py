"""The OpenAPI document: a client that knows nothing else calls every route, with right and wrong requests."""

import itertools
import json
import pathlib
import re

import jsonschema
import pytest

from bert_cli.serving.http.all_protocols import PROTOCOLS, find_protocol
from bert_cli.serving.keys import Client as Owner
from bert_cli.settings.serving import Limits
from tests.serving.http.calls import Application, FakeVectors, FirstWords, Numbers, Vectors, make_model

METHODS = {"get", "post"}
LIMITS = Limits(max_body_bytes=2000, max_texts=3, max_text_chars=100)


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    """An application that needs a key, and has limits that are easy to exceed."""
    keys = tmp_path_factory.mktemp("keys") / "keys.txt"
    keys.write_text(
        "all:secret\nteam:vectors models=vectors\nsome models=vectors,numbers\nslow texts_per_second=0.01\n"
    )
    models = [make_model(*row) for row in ((FirstWords, "default"), (Numbers, "numbers"), (Vectors, "vectors"))]
    opened = Application(*models, keys=str(keys), limits=LIMITS, allowed_hosts=("a",))
    yield opened
    opened.close()


def operations(document: dict):
    """Yield path, method and description of each operation."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


class Client:
    """A client made from a document; it refuses answers that are not described."""

    def __init__(self, application):
        self.application = application
        status, _, body = application.send("GET", "/openapi.json", authorization="Bearer secret")
        assert status == 200
        self.document = json.loads(body)

    def path(self, template: str, **names: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda match: {"name": "default", "version": "1", **names}[match[1]], template)

    def call(self, path: str, method: str, body: bytes | None = None, *, has_key: bool = True, names=(), **headers):
        """Return status and content, after they were compared with the description."""
        operation = self.document["paths"][path][method]
        needs_key = bool(operation.get("security"))
        if needs_key and has_key:
            scheme = self.document["components"]["securitySchemes"]["bearer"]
            assert scheme == {"type": "http", "scheme": "bearer"}
            headers["authorization"] = "Bearer secret"
        example = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
        data = body if body is not None else json.dumps(example).encode() if example else b""
        target = self.path(path, **dict(names))
        status, received_headers, content = self.application.send(method.upper(), target, data, **headers)
        described = operation["responses"].get(str(status))
        assert described, f"{method} {path}: {status} is not described: {content[:200]}"
        media_type = received_headers["content-type"].partition(";")[0]
        schema = described["content"][media_type]["schema"]
        if media_type == "application/json":
            content = json.loads(content)
        jsonschema.Draft202012Validator(schema).validate(content if media_type == "application/json" else "text")
        return status, content


@pytest.fixture(scope="module")
def client(keyed):
    return Client(keyed)


def test_the_document_has_the_form_of_openapi(client):
    document = client.document
    assert re.fullmatch(r"3\.1\.\d", document["openapi"])
    assert {"title", "version"} <= document["info"].keys()
    identifiers = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(identifiers)) == len(identifiers)
    for path, method, operation in operations(document):
        assert path.startswith("/")
        assert method in METHODS
        parameters = [parameter["name"] for parameter in operation.get("parameters", [])]
        assert sorted(parameters) == sorted(re.findall(r"\{(\w+)\}", path)), path
        assert all(parameter["in"] == "path" and parameter["required"] for parameter in operation.get("parameters", []))
        for status, response in operation["responses"].items():
            assert re.fullmatch(r"[2-5]\d\d", status)
            assert response["description"]
            for content in response["content"].values():
                jsonschema.Draft202012Validator.check_schema(content["schema"])
        if method == "post":
            body = operation["requestBody"]["content"]["application/json"]
            jsonschema.Draft202012Validator.check_schema(body["schema"])
            jsonschema.validate(body["example"], body["schema"])
            jsonschema.validate(
                operation["responses"]["200"]["content"]["application/json"]["example"],
                operation["responses"]["200"]["content"]["application/json"]["schema"],
            )


def test_the_document_has_every_route_of_the_table(client):
    described = {(method.upper(), path) for path, method, _ in operations(client.document)}
    routes = [route for protocol in PROTOCOLS for route in protocol.routes]
    assert described == {(route.method, route.path) for route in routes if route.summary}
    assert [route.path for route in routes if not route.summary] == ["/v1/models/{name}"]


def test_no_status_is_invented(client):
    """422 is FastAPI's; each route has 500, and each one behind a key 401 and 503."""
    for path, _, operation in operations(client.document):
        statuses = set(operation["responses"])
        assert "422" not in statuses
        assert "500" in statuses
        is_public = operation.get("security") is None
        assert is_public == (path in ("/health", "/ready", "/v2/health/live", "/v2/health/ready"))
        assert ("401" in statuses) != is_public


def test_every_example_is_answered(client):
    for path, method, _ in operations(client.document):
        if path == "/explain":
            continue  # The fake models cannot explain; test_serve.py has this example.
        assert client.call(path, method)[0] == 200, path
        for model in ("numbers", "vectors"):
            if "{name}" in path:
                assert client.call(path, method, names={"name": model})[0] == 200


def wrong_bodies(schema: dict, example: dict):
    """Yield bodies that a schema refuses: not JSON, no object, missing and wrong members."""
    yield from (b"", b"{", b"[1]", b"\xff", b'"a"', b"{}")
    for form in schema.get("anyOf", [schema]):
        for name in form["properties"]:
            for value in (7, {"a": []}, [[]], "a", None, True):
                request = example | {name: value}
                if not jsonschema.Draft202012Validator(schema).is_valid(request):
                    yield json.dumps(request).encode()
    yield json.dumps(example | {"unknown": 1}).encode()


def test_wrong_bodies_have_described_errors(client):
    count = 0
    for path, method, operation in operations(client.document):
        if method == "post":
            content = operation["requestBody"]["content"]["application/json"]
            for body in wrong_bodies(content["schema"], content["example"]):
                status, _ = client.call(path, method, body)
                assert status in (400, 404), (path, body)
                count += 1
    assert count > 200


def test_other_errors_are_described(client):
    posts = [(path, method) for path, method, operation in operations(client.document) if method == "post"]
    for path, method in posts:
        assert client.call(path, method, b"x" * 2001)[0] == 413
        assert client.call(path, method, b"x", content_encoding="br")[0] == 415
        assert client.call(path, method, b"x", content_encoding="gzip")[0] == 400
    for path, method, operation in operations(client.document):
        if operation.get("security"):
            assert client.call(path, method, has_key=False)[0] == 401
            assert client.call(path, method, host="other")[0] == 400
        if "{name}" in path:
            assert client.call(path, method, names={"name": "none"})[0] == 404
        if "{version}" in path:
            assert client.call(path, method, names={"version": "7"})[0] == 404


def test_limits_of_keys_are_described(client):
    for path, method, operation in operations(client.document):
        if not operation.get("security"):
            continue
        example = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
        body = json.dumps(example if example is None or "{name}" in path else example | {"model": "default"}).encode()
        status, answer = client.call(path, method, body, has_key=False, authorization="Bearer vectors")
        names_model = method == "post" or "{name}" in path
        assert (status, "may use vectors" in str(answer)) == ((403, True) if names_model else (200, False)), path
        if method == "post":
            for _ in range(2):
                status, answer = client.call(path, method, has_key=False, authorization="Bearer slow")
            assert (status, "0.01 texts per second" in str(answer)) == (429, True), path


def test_a_key_for_some_models_sees_no_others(keyed):
    key = {"authorization": "Bearer some"}
    assert [model["id"] for model in keyed.get("/v1/models", **key)[1]["data"]] == ["vectors", "numbers"]
    page = keyed.send("GET", "/", **key)[2].decode()
    assert ('"vectors"' in page, '"numbers"' in page, '"name": "default"' in page) == (True, True, False)
    # The key's first model is its default.
    assert keyed.post("/v1/embeddings", {"input": "a"}, **key)[1]["model"] == "vectors"
    assert keyed.get("/v1/models/numbers", **key)[0] == 200
    for path in ("/v1/models/default", "/v1/models/default/metadata", "/v2/models/default", "/v2/models/default/ready"):
        assert keyed.get(path, **key)[0] == 403
    for body in ({"input": "a", "model": "default"}, {"input": 7, "model": "default"}):
        assert keyed.post("/v1/embeddings", body, **key)[0] == 403
    status, answer = keyed.get("/v1/models/none", **key)
    assert (status, "there is vectors, numbers" in answer["error"]) == (404, True)


def test_metrics_of_a_limited_key_have_no_other_models_and_keys(keyed):
    for name, model in (("secret", "numbers"), ("vectors", "vectors")):
        assert keyed.post("/v1/embeddings", {"input": "a", "model": model}, authorization=f"Bearer {name}")[0] == 200

    def labels(name: str, key: str) -> set[str]:
        text = keyed.send("GET", "/metrics", authorization=f"Bearer {key}")[2].decode()
        assert "bert_waiting_texts 0.0" in text
        return set(re.findall(rf'\b{name}="([^"]*)"', text))

    assert labels("model", "secret") == {"", "default", "numbers", "vectors"}
    assert labels("key", "secret") == {"all", "team"}
    assert labels("model", "vectors") == {"", "vectors"}
    assert labels("key", "vectors") == {"team"}
    assert labels("model", "some") == {"", "numbers", "vectors"}
    assert labels("key", "some") == set()


CURL = re.compile(r"^curl -s localhost:8123(\S+) -d '(.*)'$", re.MULTILINE)
PAGE = (pathlib.Path(__file__).parents[3] / "docs/serving.md").read_text(encoding="utf-8")


class SingleTexts(FirstWords):
    """A classifier as in the page: it takes no pairs."""

    takes_pairs = False


@pytest.mark.parametrize(("path", "body"), CURL.findall(PAGE))
def test_curl_commands_of_the_page_are_answered(path, body):
    application = Application(make_model(SingleTexts, "default"), make_model(Vectors, "words"))
    status, answer = application.post(path, json.loads(body))
    application.close()
    assert status == 200, answer


def test_the_page_has_a_curl_command_per_protocol():
    assert {find_protocol(path).name for path, _ in CURL.findall(PAGE)} == {
        protocol.name for protocol in PROTOCOLS if protocol.name != "bert_cli"
    }


def test_metrics_have_the_paths_of_the_table(application):
    def counts() -> dict[str, str]:
        text = application.service.metrics.text(Owner()).decode()
        return dict(re.findall(r'bert_requests_total\{model="",path="([^"]*)",status="404"\} (\S+)', text))

    def label(path: str) -> str:
        before = counts()
        application.get(path)
        (changed,) = (name for name, count in counts().items() if count != before.get(name))
        return changed

    assert label("/v2/models/none") == "/v2/models/NAME"
    assert label("/v2/models/none/versions/1/ready") == "/v2/models/NAME/ready"
    assert label("/v1/models/none") == "/v1/models/NAME"
    assert label("/v1/models/none/metadata") == "/v1/models/NAME/metadata"
    assert label("/invented/path") == "other"


def test_unknown_models_in_bodies(client):
    for path, method, operation in operations(client.document):
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        forms = body.get("schema", {}).get("anyOf", [body.get("schema", {})])
        if "model" in forms[0].get("properties", {}):
            request = json.dumps(body["example"] | {"model": "none"}).encode()
            assert client.call(path, method, request)[0] == 404


def test_an_ending_server_is_described(client, keyed):
    keyed.state.is_draining = keyed.state.is_ending = True
    try:
        for path, method, _ in operations(client.document):
            expected = 200 if path in ("/health", "/v2/health/live") else 503
            assert client.call(path, method)[0] == expected, path
    finally:
        keyed.state.is_draining = keyed.state.is_ending = False


def test_failures_are_described(client, keyed, monkeypatch):
    """A programming error has the form of its protocol."""

    def fail(*arguments):
        raise ZeroDivisionError

    monkeypatch.setattr(FirstWords, "answer", fail)
    monkeypatch.setattr(FakeVectors, "embed", fail)
    for path in (
        "/predict",
        "/v1/embeddings",
        "/embed",
        "/rerank",
        "/v1/models/{name}:predict",
        "/v2/models/{name}/infer",
    ):
        assert client.call(path, "post")[0] == 500


def test_other_methods_have_an_allow_header(client):
    for path, method in itertools.product(client.document["paths"], ("GET", "POST", "PUT", "DELETE", "PATCH")):
        allowed = {name.upper() for name in client.document["paths"][path]}
        if method not in allowed and (path, method) != ("/v1/models/{name}", "POST"):
            status, headers, _ = client.application.send(method, client.path(path), authorization="Bearer secret")
            expected = ", ".join(sorted(allowed | ({"HEAD"} if "GET" in allowed else set())))
            assert (status, headers.get("allow")) == (405, expected), (method, path)


def test_a_server_without_keys_has_no_schemes(application):
    document = application.get("/openapi.json")[1]
    assert "components" not in document
    assert all("401" not in operation["responses"] for _, _, operation in operations(document))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/nowhere", "bert_cli"),
        ("/predict", "bert_cli"),
        ("/v1/embeddings", "OpenAI"),
        ("/v1/models", "OpenAI"),
        ("/v1/models/a:predict", "TensorFlow Serving"),
        ("/v1/rerank", "Text Embeddings Inference"),
        ("/embed", "Text Embeddings Inference"),
        ("/embedding", "bert_cli"),
        ("/v2", "KServe v2"),
        ("/v2/nowhere", "KServe v2"),
        ("/v20", "bert_cli"),
    ],
)
def test_the_protocol_of_a_path(path, name):
    assert find_protocol(path).name == name
