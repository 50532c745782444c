"""Responses of the server: JSON, errors, HTML pages, and the description of its routes."""

import asyncio
import contextlib
import json
import os
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import jinja2
from starlette.responses import Response

from bert_cli import __version__
from bert_cli.base.json_files import JsonObject
from bert_cli.serving.access import current_request_id


class RequestError(Exception):
    """An error that the client receives as the response.

    Attributes:
        status: HTTP status code.
        message: text for the client.
        retry_after: seconds after which the client should retry; if 0, the response has no hint.
        has_unread_body: whether the request's body has not been read.
    """

    def __init__(self, status: int, message: str, retry_after: int = 0, has_unread_body: bool = False):
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after
        self.has_unread_body = has_unread_body


# Status for logs and metrics, as in nginx: the client has closed the connection before the response.
CLIENT_LEFT = 499
_JSON = "application/json"
# Limit on reading a body that is discarded, in seconds.
_DISCARD_SECONDS = 5.0


class UnreadBodyResponse(Response):
    """Response that the client gets before it has sent its request's body.

    Afterwards the body is read and discarded. Many clients send everything before they read, and
    would see a connection reset instead of the response.
    """

    @classmethod
    def from_response(cls, response: Response) -> "UnreadBodyResponse":
        """Return a copy of a response."""
        return cls(response.body, response.status_code, dict(response.headers))

    async def __call__(self, scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[..., Any]) -> None:
        """Send the response, discard the body, and end the response; ASGI passes the arguments."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        # A client that waits for 100 Continue sends no body now.
        if b"expect" not in dict(scope["headers"]):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_DISCARD_SECONDS):
                    while (await receive()).get("more_body"):
                        pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def error_response(status: int, message: str, retry_after: int = 0, is_plain: bool = False) -> Response:
    """Return an error as a JSON response.

    Args:
        status: HTTP status code.
        message: text for the client.
        retry_after: seconds for the Retry-After header; 0 omits it.
        is_plain: use TensorFlow Serving's form {"error": message} instead of OpenAI's.
    """
    error: Any = message if is_plain else {"message": message, "type": "invalid_request_error", "code": status}
    request_id = current_request_id()
    # The header has the id too, but error messages are copied without headers.
    fields = {"request_id": request_id} if request_id else {}
    body = {"error": error} | fields if is_plain else {"error": error | fields}
    headers = {"retry-after": str(retry_after)} if retry_after else {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status in (408, 413):
        # The remaining body is not read, so the connection cannot be reused.
        headers["connection"] = "close"
    return json_response(body, status, headers)


def json_response(value: JsonObject, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a response with `value` as JSON, and with this status and these headers."""
    return Response(json.dumps(value, ensure_ascii=False), status, headers, media_type=_JSON)


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
        'one of several models. A text that was cut has "cut", the number of tokens that were left out.',
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
        "By default the mean of the encoder's last layer, of length 1. encoding_format: float or base64. A text that was "
        'cut has "cut", the number of tokens that were left out.',
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
