"""Access to the server: API keys, addresses, and a record per request for the log and for errors."""

import base64
import binascii
import contextvars
import dataclasses
import hmac
import ipaddress
import logging
import os
import re
import uuid
from typing import TYPE_CHECKING, Any

from bert_cli.base import files
from bert_cli.base.errors import refuse_if
from bert_cli.base.lines import read_text
from bert_cli.base.log import LOG, log_all

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping, Sequence

    from starlette.types import Message, Scope

    from bert_cli.settings.serving import Network

# Allow only characters that cannot direct a page's links to another host.
_PREFIX = re.compile(r"(/[\w.~-]+)+", re.ASCII)
# A key with its client's name.
_NAMED_KEY = re.compile(r"([A-Za-z0-9._-]{1,64}):(.*)")
_COMMENT = re.compile(r"(^|\s)#.*")


class ApiKeys:
    """Keys that clients may use; without a file, requests need no key."""

    def __init__(self, path: str | None = None):
        """Read the keys; raise InputError if the file cannot be read or has no key."""
        self._path = path
        self._keys: list[tuple[bytes, str]] = []  # keys and the names of their clients
        self.reload()

    def __len__(self) -> int:
        return len(self._keys)

    def reload(self) -> None:
        """Read the file again; after an InputError the old keys stay valid.

        The file has one key per line, such as KEY or NAME:KEY. Blank lines are skipped, and so are
        comments, which begin with "#" at a line's start or after a space.
        """
        if self._path is None:
            return
        files.check_readable(self._path, "api_key_file")
        lines = [_COMMENT.sub("", line).strip() for line in read_text(self._path).split("\n")]
        keys = []
        for number, line in enumerate(lines, 1):
            match = _NAMED_KEY.fullmatch(line)
            name, key = match.groups() if match else ("", line)
            refuse_if(name and not key, f"{self._path}:{number}: {name}: has no key; NAME:KEY is needed")
            keys += [(key.encode(), name)] if key else []
        refuse_if(not keys, f"{self._path}: holds no key; one per line is needed")
        self._keys = keys

    def find_client(self, authorization: str) -> str | None:
        """Return the name for the key in an Authorization header, "" for a key without a name.

        The key is a bearer token, or the password of basic authentication, which browsers use. The
        result is None for an invalid key, and "" if every request is allowed.
        """
        keys = self._keys
        if not keys:
            return ""
        scheme, _, credentials = authorization.partition(" ")
        if scheme.lower() == "basic":
            try:
                credentials = base64.b64decode(credentials, validate=True).decode().partition(":")[2]
            except (binascii.Error, ValueError):
                return None
        elif scheme.lower() != "bearer":
            return None
        received_key = credentials.strip().encode()
        # Compare with every key, so that the time does not depend on the keys.
        names = [name for key, name in keys if hmac.compare_digest(received_key, key)]
        return names[0] if names else None


def normalize_scope(scope: "Scope", root_path: str) -> "Scope":
    """Return an ASGI scope with a path and a method that the routes match.

    Trailing slashes are removed. So is the root path, which only some proxies remove. HEAD becomes
    GET, since uvicorn omits the body. The query string is unchanged.

    Args:
        scope: the ASGI scope.
        root_path: path below which a proxy publishes the server, or "".
    """
    path = scope["path"]
    if root_path and f"{path}/".startswith(f"{root_path}/"):
        path = path[len(root_path) :]
    path = path.rstrip("/") or "/"
    method = "GET" if scope["method"] == "HEAD" else scope["method"]
    if path == scope["path"] and method == scope["method"]:
        return scope
    return {**scope, "path": path, "raw_path": path.encode(), "method": method}


def public_prefix(headers: "Mapping[str, str]", root_path: str) -> str:
    """Return the path prefix that clients use: `root_path`, or else x-forwarded-prefix."""
    if root_path:
        return root_path
    prefix = headers.get("x-forwarded-prefix", "").partition(",")[0].strip().rstrip("/")
    return prefix if _PREFIX.fullmatch(prefix) else ""


def is_allowed_host(host: str, allowed_hosts: "Sequence[str]") -> bool:
    """Return whether a Host header has an allowed host, with any port.

    Args:
        host: the header, such as "example.com:8000" or "[::1]:8000".
        allowed_hosts: host names in lower case; "*.example.com" allows all names below example.com.
    """
    name = re.sub(r":\d*$", "", host.strip().lower()).rstrip(".")
    return any(
        name.endswith(pattern[1:]) and len(name) >= len(pattern) if pattern.startswith("*.") else name == pattern
        for pattern in allowed_hosts
    )


def client_address(scope: "Scope", trusted_proxies: "Sequence[Network]") -> str:
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
            sender, previous = _read_address(address), _read_address(text.strip())
        except ValueError:
            break
        if not any(sender in network for network in trusted_proxies):
            break
        address = str(previous)
    return address


def _read_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return an address; one of IPv4 may come from a socket of IPv6, as ::ffff:10.0.0.1."""
    address = ipaddress.ip_address(text)
    return getattr(address, "ipv4_mapped", None) or address


# Accept only characters that are safe in headers, logs and file names.
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._~:/+=@-]{1,128}")
_MAX_PATH_CHARACTERS = 200


@dataclasses.dataclass(slots=True)
class RequestRecord:
    """Properties that become known while the server answers a request.

    Attributes:
        id: the client's X-Request-ID, or a random id.
        model: the answering model's name, or "".
        num_texts: number of texts that the client sent.
        key: name of the API key, or "".
        has_left: whether the client has closed the connection before the response.
        result: a future, which fails when the client leaves, or None.
    """

    id: str
    model: str = ""
    num_texts: int = 0
    key: str = ""
    has_left: bool = False
    result: "asyncio.Future[Any] | None" = None


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
    received_id = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
    request_id = received_id.decode("ascii") if _REQUEST_ID.fullmatch(received_id) else uuid.uuid4().hex
    record = RequestRecord(request_id)
    scope[_RECORD] = record
    _CURRENT.set(record)
    return record


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


def note_texts(model: str, num_texts: int) -> None:
    """Record which model answers this task's request, and how many texts it has."""
    record = _CURRENT.get()
    if record:
        record.model = model
        record.num_texts = num_texts


def with_request_id(message: "Message", request_id: str) -> "Message":
    """Return an ASGI message that starts a response, with the header x-request-id."""
    return {**message, "headers": [*message["headers"], (b"x-request-id", request_id.encode())]}


class RequestLog:
    """Log with a line per answered request, without query strings and texts.

    Lines are kept until `write`. A write lets another thread use Python, and this thread may then
    wait for 5 ms, which is longer than a request for a short text takes.
    """

    def __init__(self, trusted_proxies: "Sequence[Network]" = ()) -> None:
        """Create an empty log; for `trusted_proxies` see `client_address`."""
        self._records: list[logging.LogRecord] = []
        self._trusted_proxies = trusted_proxies

    def add(self, request: RequestRecord, scope: "Scope", status: int, seconds: float) -> None:
        """Add a request after its response.

        Args:
            request: the request's record.
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
            "key": request.key,
            "process": os.getpid(),
            "request_id": request.id,
        }
        template = "%s %s %d %.1f ms, texts: %d, client %s, request %s"
        client = f"{fields['client']} ({request.key})" if request.key else fields["client"]
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
