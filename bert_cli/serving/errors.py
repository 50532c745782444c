"""Errors that a request is answered with."""


class RequestError(Exception):
    """A request that cannot be answered. status: of HTTP; retry_after: seconds, 0 for none."""

    def __init__(self, status: int, message: str, retry_after: int = 0):
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after
