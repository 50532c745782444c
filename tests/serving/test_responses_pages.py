"""HTML pages with a security policy, and route descriptions."""

import re

from bert_cli import __version__
from bert_cli.serving.responses import render_page, route_arguments


def test_the_policy_allows_only_the_scripts_of_the_page():
    text, headers = render_page("try.html", models=[], prefix="")
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    nonces = set(re.findall(r"nonce-([\w-]+)'", policy))
    assert len(nonces) == 1
    assert set(re.findall(r'nonce="([^"]+)"', text)) == nonces
    assert f"bert_cli {__version__}" in text


def test_each_page_has_a_new_nonce():
    policies = {render_page("try.html", models=[], prefix="")[1]["content-security-policy"] for _ in range(2)}
    assert len(policies) == 2


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
