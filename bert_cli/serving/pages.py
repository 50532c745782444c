"""HTML pages of the server, and descriptions of its routes for GET /docs and GET /openapi.json."""

import os
import secrets
from typing import Any

import jinja2

from bert_cli import __version__

_TEMPLATE_DIRECTORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates")
# Compile the templates at import time, so that no request reads a file.
_TEMPLATES = {
    name: jinja2.Environment(loader=jinja2.FileSystemLoader(_TEMPLATE_DIRECTORY), autoescape=True).get_template(name)
    for name in ("try.html", "api.html")
}
_TEXT = {"text": "the film was lovely ."}
_RECORD = {"index": 0, "text": "the film was lovely .", "label": "good", "probabilities": {"bad": 0.1, "good": 0.9}}
_VECTOR = {"object": "embedding", "index": 0, "embedding": [0.1, -0.2]}
# By name: summary, description, example request, example response.
_ROUTES: dict[str, tuple[str, str, Any, Any]] = {
    "predict": (
        "Answer a text, a pair, a question, or a list of them",
        'One item: {"text"}, {"text", "text_b"} for pairs, or {"question", "context"}. Several: {"texts": [...]}, each a '
        'string, a pair [a, b] or an object; the answer is then {"predictions": [...]} in the same order. "model" names '
        "one of several models.",
        _TEXT,
        _RECORD,
    ),
    "instances": (
        "Answer a list, as TensorFlow Serving's REST API",
        "Each instance is a string, a pair [a, b] or an object, as in POST /predict.",
        {"instances": ["the film was lovely ."]},
        {"predictions": [_RECORD]},
    ),
    "embeddings": (
        "Vectors of texts, as OpenAI's API",
        "The mean of the encoder's last layer, of length 1. encoding_format: float or base64.",
        {"input": ["a text", "another text"], "encoding_format": "float"},
        {"object": "list", "data": [_VECTOR], "usage": {"prompt_tokens": 4, "total_tokens": 4}},
    ),
    "explain": (
        "Which words mattered to a classifier",
        "The contribution of each word to the score of the predicted label.",
        _TEXT,
        {"label": "good", "probability": 0.9, "words": [{"word": "lovely", "share": 1.4}]},
    ),
    "models": ("The models", "Their names, kinds and labels.", None, {"object": "list", "data": [{"id": "default"}]}),
    "model": (
        "State of a model, as TensorFlow Serving's REST API",
        "Also a model object of OpenAI's API. The version is 1.",
        None,
        {"model_version_status": [{"version": "1", "state": "AVAILABLE"}]},
    ),
    "metadata": (
        "Inputs of a model, as TensorFlow Serving's REST API",
        "The fields of an instance in POST /v1/models/NAME:predict.",
        None,
        {"model_spec": {"name": "default", "signature_name": "", "version": "1"}},
    ),
    "health": ("Whether the process runs", "Needs no API key.", None, {"status": "ok"}),
    "ready": (
        "Whether requests are taken",
        "503 when the server is ending. Needs no API key.",
        None,
        {"status": "ready"},
    ),
    "metrics": (
        "Metrics in Prometheus' format",
        "Requests, seconds, texts that wait, texts that were cut.",
        None,
        None,
    ),
}
_ERRORS = {
    400: "not JSON, or a wrong type",
    401: "no or a wrong API key",
    404: "no such model",
    408: "the request did not end in time",
    413: "too large",
    429: "too many texts wait; Retry-After says when to try again",
    504: "no answer within --request_timeout",
}


def render_page(name: str, **values: Any) -> tuple[str, dict[str, str]]:
    """Return a page as HTML, and response headers that allow only its inline script and style.

    Args:
        name: a key of _TEMPLATES.
        **values: variables for the template.
    """
    nonce = secrets.token_urlsafe(16)
    inline_sources = f"style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'"
    headers = {
        "content-security-policy": f"default-src 'none'; {inline_sources}; connect-src 'self'; img-src data:",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    }
    text = _TEMPLATES[name].render(values, nonce=nonce, generator=f"bert_cli {__version__}")
    return text, headers


def route_arguments(name: str) -> dict[str, Any]:
    """Return the keyword arguments for the FastAPI route `name`, a key of _ROUTES."""
    summary, description, request, answer = _ROUTES[name]
    responses: dict[int, Any] = {200: {"description": "the answer"}}
    if answer is not None:
        responses[200]["content"] = {"application/json": {"example": answer}}
    extra = {}
    if request is not None:
        content = {"application/json": {"schema": {"type": "object"}, "example": request}}
        extra = {"requestBody": {"required": True, "content": content}}
        responses |= {status: {"description": meaning} for status, meaning in _ERRORS.items()}
    return {
        "summary": summary,
        "description": description,
        "response_model": None,
        "openapi_extra": extra,
        "responses": responses,
    }
