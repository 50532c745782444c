"""JSON responses, and responses before the body has been read."""

import asyncio
import contextvars
import json

import numpy as np
import pytest

from bert_cli.serving.http.protocol import plain_error
from bert_cli.serving.responses import RequestError, UnreadBodyResponse, error_response, json_response, write_vector


def test_values_are_unescaped_json():
    response = json_response({"text": "é"}, 201, {"x-a": "b"})
    assert (response.status_code, response.body) == (201, '{"text": "é"}'.encode())
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-a"] == "b"


def test_vectors_keep_each_bit():
    bits = np.random.default_rng(0).integers(0, 1 << 32, 1000, dtype=np.uint32)
    values = np.array([0, 1, -2.5, 1e-45, 3.4028235e38, *bits.view(np.float32)], np.float32)
    values = values[np.isfinite(values)]
    np.testing.assert_array_equal(np.array(json.loads(write_vector(values)), np.float32), values)


def error_of(**options) -> dict:
    """Return an error's JSON outside of requests, which have an id."""
    return json.loads(contextvars.Context().run(error_response, 404, "no such model", **options).body)


def test_errors_have_the_form_of_openai():
    assert error_of() == {"error": {"message": "no such model", "type": "invalid_request_error", "code": 404}}


def test_errors_have_the_form_of_a_protocol():
    assert error_of(form=plain_error) == {"error": "no such model"}


@pytest.mark.parametrize(
    ("status", "retry_after", "headers"),
    [
        (429, 3, {"retry-after": "3"}),
        (401, 0, {"www-authenticate": "Bearer"}),
        (413, 0, {"connection": "close"}),
        (400, 0, {}),
    ],
)
def test_headers_of_errors(status, retry_after, headers):
    actual = error_response(status, "a", retry_after).headers
    assert {name: actual[name] for name in actual if not name.startswith("content")} == headers


def exchange(response, headers=()) -> tuple[list[dict], int]:
    """Return the messages that a response sends, and the number of body chunks that it reads."""
    chunks = [{"more_body": True}, {"more_body": True}, {"more_body": False}]
    sent = []

    async def receive() -> dict:
        return chunks.pop(0)

    async def send(message: dict) -> None:
        sent.append(message | {"chunks_left": len(chunks)})

    asyncio.run(response({"headers": headers}, receive, send))
    return sent, 3 - len(chunks)


def test_the_body_is_discarded_after_the_response():
    response = UnreadBodyResponse.from_response(error_response(413, "too large"))
    sent, num_read = exchange(response)
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body", "http.response.body"]
    assert sent[0]["status"] == 413
    assert (sent[1]["body"], sent[1]["more_body"], sent[1]["chunks_left"]) == (response.body, True, 3)
    assert (sent[2]["more_body"], num_read) == (False, 3)


def test_a_client_that_waits_for_100_continue_sends_no_body():
    response = UnreadBodyResponse.from_response(error_response(413, "too large"))
    assert exchange(response, [(b"expect", b"100-continue")])[1] == 0


def test_errors_have_status_and_message():
    error = RequestError(429, "too many texts wait", retry_after=2)
    assert (error.status, error.retry_after, error.has_unread_body) == (429, 2, False)
    assert str(error) == error.message == "too many texts wait"
