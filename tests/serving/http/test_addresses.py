"""Request paths: trailing slashes, HEAD, and proxy prefixes."""

import pytest

from bert_cli.serving.http.addresses import is_allowed_host, normalize_scope, public_prefix


@pytest.mark.parametrize(
    ("path", "root_path", "expected"),
    [
        ("/predict", "", "/predict"),
        ("/predict/", "", "/predict"),
        ("/predict//", "", "/predict"),
        ("/", "", "/"),
        ("//", "", "/"),
        ("/bert/predict/", "/bert", "/predict"),
        ("/predict", "/bert", "/predict"),
        ("/bert", "/bert", "/"),
        ("/bert/", "/bert", "/"),
        ("/bertha", "/bert", "/bertha"),
        ("/a/b/v1/models", "/a/b", "/v1/models"),
    ],
)
def test_paths(path, root_path, expected):
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"a=/b/"}
    assert normalize_scope(scope, root_path) == scope | {"path": expected, "raw_path": expected.encode()}


def test_head_is_routed_as_get():
    scope = {"method": "HEAD", "path": "/health", "raw_path": b"/health"}
    assert normalize_scope(scope, "")["method"] == "GET"
    assert scope["method"] == "HEAD"


@pytest.mark.parametrize(
    ("header", "root_path", "prefix"),
    [
        ("", "", ""),
        ("/bert", "", "/bert"),
        ("/bert/", "", "/bert"),
        ("/a/b, /c", "", "/a/b"),
        ("/bert", "/mine", "/mine"),
        ("//evil.example", "", ""),
        ("https://evil.example", "", ""),
        ("/<script>", "", ""),
        ("bert", "", ""),
    ],
)
def test_the_prefix_in_pages(header, root_path, prefix):
    assert public_prefix({"x-forwarded-prefix": header} if header else {}, root_path) == prefix


@pytest.mark.parametrize(
    ("host", "is_allowed"),
    [
        ("localhost", True),
        ("LOCALHOST:8000", True),
        ("localhost.", True),
        ("[::1]:8000", True),
        ("api.example.com", True),
        ("a.b.example.com:443", True),
        ("example.com", False),
        (".example.com", False),
        ("badexample.com", False),
        ("example.com.evil.test", False),
        ("127.0.0.1", False),
        ("localhost:8000:9", False),
        ("", False),
    ],
)
def test_allowed_hosts(host, is_allowed):
    assert is_allowed_host(host, ("localhost", "[::1]", "*.example.com")) == is_allowed
