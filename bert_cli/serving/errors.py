"""The exception for errors in responses."""


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
