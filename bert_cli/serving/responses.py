"""Responses in JSON."""

import json
from typing import Any

from starlette.responses import Response

from bert_cli.serving.payloads import Json

_JSON = "application/json"


def error_response(status: int, message: str, retry_after: int = 0, is_plain: bool = False) -> Response:
    """Return an error as JSON; is_plain: {"error": message}, as TensorFlow Serving has it."""
    error: Any = message if is_plain else {"message": message, "type": "invalid_request_error", "code": status}
    headers = {"retry-after": str(retry_after)} if retry_after else {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status in (408, 413):
        headers["connection"] = "close"  # the rest of the body is not read
    return json_response({"error": error}, status, headers)


def json_response(value: Json, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a JSON object as a response."""
    return Response(json.dumps(value, ensure_ascii=False), status, headers, media_type=_JSON)
