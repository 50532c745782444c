"""Paths of requests: trailing slashes, HEAD, and the path below which a proxy publishes the server."""

import re
from collections.abc import Mapping
from typing import Any

# Nothing that could lead a link of a page to another host.
_PREFIX = re.compile(r"(/[\w.~-]+)+", re.ASCII)


def routed(scope: dict[str, Any], root_path: str) -> dict[str, Any]:
    """Return the ASGI scope of a request as the routes know it.

    Trailing slashes and the root path, which some proxies remove and some keep, are taken off the
    path. HEAD becomes GET: uvicorn leaves out the body. The query stays.
    """
    path = scope["path"]
    if root_path and f"{path}/".startswith(f"{root_path}/"):
        path = path[len(root_path) :]
    path = path.rstrip("/") or "/"
    method = "GET" if scope["method"] == "HEAD" else scope["method"]
    if path == scope["path"] and method == scope["method"]:
        return scope
    return scope | {"path": path, "raw_path": path.encode(), "method": method}


def public_prefix(headers: Mapping[str, str], root_path: str) -> str:
    """Return the path before the routes, as clients see it: --root_path, else of the proxy's header."""
    if root_path:
        return root_path
    prefix = headers.get("x-forwarded-prefix", "").partition(",")[0].strip().rstrip("/")
    return prefix if _PREFIX.fullmatch(prefix) else ""
