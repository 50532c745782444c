"""A record per request, with its ids for errors and traces, and the log of requests."""

import contextvars
import dataclasses
import ipaddress
import logging
import os
import random
import re
from typing import TYPE_CHECKING, Any

from bert_cli.base.log import LOG, log_all
from bert_cli.runtime.spans import RequestSpan
from bert_cli.serving.keys import Client

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping, Sequence

    from starlette.types import Message, Scope

    from bert_cli.settings.serving import IPNetwork


def client_address(scope: "Scope", trusted_proxies: "Sequence[IPNetwork]") -> str:
    """Return a client's address, as far as the server can know it.

    Proxies append to X-Forwarded-For, so the last address that is not a trusted proxy is the
    client's. A client may have written the addresses before it.

    Args:
        scope: the HTTP request's ASGI scope.
        trusted_proxies: addresses of proxies.
    """
    address = (scope.get("client") or ("",))[0]
    forwarded = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for").decode("latin-1")
    for text in reversed(forwarded.split(",") if forwarded and trusted_proxies else ()):
        try:
            previous = _read_address(text.strip())
            # Only a proxy of this machine connects to a unix socket, which has no addresses.
            is_trusted = not address or any(_read_address(address) in network for network in trusted_proxies)
        except ValueError:
            break
        if not is_trusted:
            break
        address = str(previous)
    return address


def _read_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return an address; one of IPv4 may come from a socket of IPv6, as ::ffff:10.0.0.1."""
    address = ipaddress.ip_address(text)
    return getattr(address, "ipv4_mapped", None) or address


# Accept only characters that are safe in headers, logs and file names.
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._~:/+=@-]{1,128}")
# W3C's traceparent: version, trace id, span id and flags.
_TRACE_PARENT = re.compile(rb"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(-.*)?")
_MAX_PATH_CHARACTERS = 200


@dataclasses.dataclass(slots=True)
class RequestRecord:
    """Properties that become known while the server answers a request.

    Attributes:
        id: the client's X-Request-ID, or a random id.
        model: the answering model's name, or "".
        num_texts: number of texts that the client sent.
        client: owner of the API key.
        trace_id: id of the client's trace, or "" without a trace.
        trace_parent: header that continues the trace with a new span, or "".
        has_left: whether the client has closed the connection before the response.
        result: a future, which fails when the client leaves, or None.
        span: the span for OpenTelemetry, or None.
    """

    id: str
    model: str = ""
    num_texts: int = 0
    client: Client = dataclasses.field(default_factory=Client)
    trace_id: str = ""
    trace_parent: str = ""
    has_left: bool = False
    result: "asyncio.Future[Any] | None" = None
    span: RequestSpan | None = None


_CURRENT: contextvars.ContextVar[RequestRecord | None] = contextvars.ContextVar("request", default=None)
# Key for a request's record in its ASGI scope.
_RECORD = "bert_cli.request"


def begin_request(scope: "Scope") -> RequestRecord:
    """Return a new record for a request, which `current_request_id` then uses in this task.

    A client's X-Request-ID with other characters than letters, digits and "._~:/+=@-", or with more
    than 128 characters, is replaced.

    Args:
        scope: the HTTP request's ASGI scope.
    """
    headers = dict(scope["headers"])
    received_id = headers.get(b"x-request-id", b"")
    request_id = received_id.decode("ascii") if _REQUEST_ID.fullmatch(received_id) else _random_hex(32)
    record = RequestRecord(request_id)
    trace = _TRACE_PARENT.fullmatch(headers.get(b"traceparent", b""))
    # Later versions may have further parts.
    if trace and (trace[1] != b"00" or not trace[4]):
        record.trace_id = trace[2].decode()
        record.trace_parent = f"00-{record.trace_id}-{_random_hex(16)}-{trace[3].decode()}"
    scope[_RECORD] = record
    _CURRENT.set(record)
    return record


def _random_hex(num_digits: int) -> str:
    """Return random digits for an id, which is no secret.

    os.urandom would let another thread use Python, and this thread would then wait for it.
    """
    return f"{random.getrandbits(4 * num_digits):0{num_digits}x}"


def use_span(record: RequestRecord, span: RequestSpan) -> None:
    """Let a span be the one in the request's log line and response."""
    record.span = span
    record.trace_parent = span.trace_parent
    record.trace_id = span.trace_parent[3:35]


def note_client_left(scope: "Mapping[str, Any]") -> None:
    """Let a request fail with ConnectionAbortedError, because its client has closed the connection.

    Args:
        scope: the HTTP request's ASGI scope.
    """
    record: RequestRecord | None = scope.get(_RECORD)
    if record:
        record.has_left = True
        _fail_if_left(record)


def fail_if_client_leaves(result: "asyncio.Future[Any]") -> None:
    """Let a future fail with ConnectionAbortedError when the client of this task's request leaves."""
    record = _CURRENT.get()
    if record:
        record.result = result
        _fail_if_left(record)


def _fail_if_left(record: RequestRecord) -> None:
    if record.has_left and record.result and not record.result.done():
        record.result.set_exception(ConnectionAbortedError())


def current_request_id() -> str:
    """Return the id for this task's request, or "" if the task answers no request."""
    record = _CURRENT.get()
    return record.id if record else ""


def current_span() -> RequestSpan | None:
    """Return the span of this task's request, or None without OpenTelemetry."""
    record = _CURRENT.get()
    return record.span if record else None


def current_client() -> Client:
    """Return the client of this task's request; without a request, a client without limits."""
    record = _CURRENT.get()
    return record.client if record else Client()


def note_texts(model: str, num_texts: int) -> Client:
    """Record which model answers this task's request, and how many texts it has; return its client."""
    record = _CURRENT.get()
    if not record:
        return Client()
    record.model = model
    record.num_texts = num_texts
    return record.client


def with_ids(message: "Message", record: RequestRecord) -> "Message":
    """Return an ASGI message that starts a response, with the headers x-request-id and traceparent."""
    headers = [*message["headers"], (b"x-request-id", record.id.encode())]
    if record.trace_parent:
        headers.append((b"traceparent", record.trace_parent.encode()))
    return {**message, "headers": headers}


class RequestLog:
    """Log with a line per answered request, without query strings and texts.

    Lines are kept until `write`. A write lets another thread use Python, and this thread may then
    wait for 5 ms, which is longer than a request for a short text takes.
    """

    def __init__(self, trusted_proxies: "Sequence[IPNetwork]" = ()) -> None:
        """Create an empty log; for `trusted_proxies` see `client_address`."""
        self._records: list[logging.LogRecord] = []
        self._trusted_proxies = trusted_proxies

    def add(self, request: RequestRecord, scope: "Scope", status: int, seconds: float) -> None:
        """Add a request after its response.

        Args:
            scope: the HTTP request's ASGI scope, if possible with its original path.
            status: HTTP status in the response.
            seconds: time from the request to the complete response.
        """
        if not LOG.isEnabledFor(logging.INFO):
            return
        path = scope["raw_path"].decode("ascii", "backslashreplace")[:_MAX_PATH_CHARACTERS]
        fields = {
            "method": scope["method"],
            "path": path,
            "status": status,
            "milliseconds": round(seconds * 1000, 3),
            "texts": request.num_texts,
            "model": request.model,
            "client": client_address(scope, self._trusted_proxies),
            "key": request.client.name,
            "process": os.getpid(),
            "request_id": request.id,
        }
        if request.trace_id:
            fields |= {"trace_id": request.trace_id, "span_id": request.trace_parent[36:52]}
        template = "%s %s %d %.1f ms, texts: %d, client %s, request %s"
        name = request.client.name
        client = f"{fields['client']} ({name})" if name else fields["client"]
        values = (scope["method"], path, status, seconds * 1000, request.num_texts, client, request.id)
        # LOG.info would look for the calling line, which no format shows and which takes time.
        self._records.append(
            LOG.makeRecord(LOG.name, logging.INFO, "", 0, template, values, None, extra={"fields": fields})
        )

    def write(self) -> None:
        """Write the kept lines."""
        if self._records:
            records, self._records = self._records, []
            log_all(records)
