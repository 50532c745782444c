"""JSON responses."""

import json
from typing import Any

from starlette.responses import Response

from bert_cli.serving.payloads import Json

_JSON = "application/json"


def error_response(status: int, message: str, retry_after: int = 0, is_plain: bool = False) -> Response:
    """Return an error as a JSON response.

    Args:
        status: HTTP status code.
        message: text for the client.
        retry_after: seconds for the Retry-After header; 0 omits it.
        is_plain: use TensorFlow Serving's form {"error": message} instead of OpenAI's.
    """
    error: Any = message if is_plain else {"message": message, "type": "invalid_request_error", "code": status}
    headers = {"retry-after": str(retry_after)} if retry_after else {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status in (408, 413):
        # The remaining body is not read, so the connection cannot be reused.
        headers["connection"] = "close"
    return json_response({"error": error}, status, headers)


def json_response(value: Json, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a response with `value` as JSON, and with this status and these headers."""
    return Response(json.dumps(value, ensure_ascii=False), status, headers, media_type=_JSON)
