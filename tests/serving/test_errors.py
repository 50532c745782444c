"""The exception for responses."""

from bert_cli.serving.errors import RequestError


def test_errors_have_status_and_message():
    error = RequestError(429, "too many texts wait", retry_after=2)
    assert (error.status, error.retry_after, error.has_unread_body) == (429, 2, False)
    assert str(error) == error.message == "too many texts wait"
