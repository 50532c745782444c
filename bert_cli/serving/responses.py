"""Responses: JSON and errors."""

import asyncio
import contextlib
import functools
import json
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
from starlette.responses import Response

from bert_cli.base.json_files import Json, JsonObject
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


# Status for logs and metrics, as in nginx: the client
# has closed the connection before the response.
CLIENT_LEFT = 499
_JSON = "application/json"
_ENCODER = json.JSONEncoder(ensure_ascii=False)
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


# An error form: a function from status, message and further members to the response body.
ErrorForm = Callable[[int, str, JsonObject], JsonObject]


def openai_error(status: int, message: str, members: JsonObject) -> JsonObject:
    """Return an error body in OpenAI's form.

    Args:
        status: HTTP status code.
        message: text for the client.
        members: further members for the error.
    """
    error: JsonObject = {"message": message, "type": "invalid_request_error", "code": status}
    return {"error": error | members}


def error_response(status: int, message: str, retry_after: int = 0, form: ErrorForm = openai_error) -> Response:
    """Return an error as a JSON response.

    Args:
        status: HTTP status code.
        message: text for the client.
        retry_after: seconds for the Retry-After header; 0 omits it.
        form: makes the body.
    """
    request_id = current_request_id()
    # The header has the id too, but error messages are copied without headers.
    body = form(status, message, {"request_id": request_id} if request_id else {})
    headers = {"retry-after": str(retry_after)} if retry_after else {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status in (408, 413):
        # The remaining body is not read, so the connection cannot be reused.
        headers["connection"] = "close"
    return json_response(body, status, headers)


def json_response(value: Json, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a response with `value` as JSON, and with this status and these headers."""
    return text_response(encode_json(value), status, headers)


def encode_json(value: Json) -> str:
    """Return `value` as JSON."""
    return _ENCODER.encode(value)


def write_vector(vector: np.ndarray) -> str:
    """Return a float32 vector [W] as JSON, with nine digits, which determine each value exactly.

    The digits that json.dumps looks for take three times as long, and most of a request's time.
    """
    return _vector_template(len(vector)) % tuple(vector.tolist())


@functools.cache
def _vector_template(width: int) -> str:
    return f"[{', '.join(['%.9g'] * width)}]"


def text_response(text: str, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a response with a text that is JSON, and with this status and these headers."""
    return Response(text, status, headers, media_type=_JSON)
