"""Addresses in requests: paths below a proxy's prefix, and names of hosts."""

import re
from collections.abc import Mapping, Sequence

from starlette.types import Scope

# Allow only characters that cannot direct a page's links to another host.
_PREFIX = re.compile(r"(/[\w.~-]+)+", re.ASCII)


def normalize_scope(scope: Scope, root_path: str) -> Scope:
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


def public_prefix(headers: Mapping[str, str], root_path: str) -> str:
    """Return the path prefix that clients use: `root_path`, or else x-forwarded-prefix."""
    if root_path:
        return root_path
    prefix = headers.get("x-forwarded-prefix", "").partition(",")[0].strip().rstrip("/")
    return prefix if _PREFIX.fullmatch(prefix) else ""


def is_allowed_host(host: str, allowed_hosts: Sequence[str]) -> bool:
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
