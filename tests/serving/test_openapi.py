"""Route descriptions."""

from bert_cli.serving.openapi import route_arguments


def test_routes_with_a_body_describe_it():
    arguments = route_arguments("explain")
    assert arguments["summary"] == "Which words mattered to a classifier"
    content = arguments["openapi_extra"]["requestBody"]["content"]["application/json"]
    assert content["example"] == {"text": "the film was lovely ."}
    assert arguments["responses"][200]["content"]["application/json"]["example"]["label"] == "good"
    assert arguments["responses"][413] == {"description": "too large"}


def test_routes_without_a_body_have_no_errors():
    arguments = route_arguments("metrics")
    assert arguments["openapi_extra"] == {}
    assert arguments["responses"] == {200: {"description": "the answer"}}
