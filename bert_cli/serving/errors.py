"""The exception for errors in responses."""


class RequestError(Exception):
    """An error that the client receives as the response.

    Attributes:
        status: HTTP status code.
        message: text for the client.
        retry_after: seconds after which the client should retry; if 0, the response has no hint.
    """

    def __init__(self, status: int, message: str, retry_after: int = 0):
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after
