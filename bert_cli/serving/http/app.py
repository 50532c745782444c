"""The HTTP interface: routes, limits on what a client sends, API keys, metrics, and pages."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as RouteOfPath

from bert_cli.base.log import LOG
from bert_cli.runtime.spans import RequestSpan
from bert_cli.serving.access import (
    RequestRecord,
    begin_request,
    current_request_id,
    use_span,
    with_ids,
)
from bert_cli.serving.http.addresses import is_allowed_host, normalize_scope, public_prefix
from bert_cli.serving.http.all_protocols import PROTOCOLS, PUBLIC_PATHS, describe_routes, find_protocol
from bert_cli.serving.http.pages import render_page
from bert_cli.serving.http.protocol import Route, RouteRequest, ServerState
from bert_cli.serving.requests import read_body
from bert_cli.serving.responses import RequestError, UnreadBodyResponse, error_response, json_response

Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(state: ServerState) -> Starlette:
    """Return the application with all routes."""
    routes = [
        RouteOfPath(route.path, _make_endpoint(state, route), methods=[route.method])
        for protocol in PROTOCOLS
        for route in protocol.routes
    ]
    handlers = dict.fromkeys((RequestError, HTTPException, Exception), _answer_error)
    app = Starlette(routes=[*routes, *_page_routes(state)], exception_handlers=handlers)
    # Starlette's redirects are absolute, and contain the scheme and host between proxy and server.
    app.router.redirect_slashes = False
    return app


def _make_endpoint(state: ServerState, route: Route) -> Endpoint:
    limits = state.service.limits

    async def get(request: Request) -> Response:
        return await route.answer(RouteRequest(state, request.path_params, request.headers, b""))

    async def post(request: Request) -> Response:
        body = await read_body(request, limits.max_body_bytes, limits.request_timeout)
        # Refuse before the body is parsed: an overloaded server has no time for that.
        state.service.refuse_late()
        return await route.answer(RouteRequest(state, request.path_params, request.headers, body))

    return post if route.method == "POST" else get


def _page_routes(state: ServerState) -> list[RouteOfPath]:
    document = describe_routes(state)

    def page(name: str, request: Request, **values: Any) -> Response:
        text, headers = render_page(name, prefix=public_prefix(request.headers, state.root_path), **values)
        return Response(text, media_type="text/html", headers=headers)

    async def try_page(request: Request) -> Response:
        return page("try.html", request, models=state.service.describe_models())

    async def docs(request: Request) -> Response:
        return page("api.html", request, api=document)

    async def openapi(request: Request) -> Response:
        prefix = public_prefix(request.headers, state.root_path)
        return json_response(document | {"servers": [{"url": prefix or "/"}]})

    return [RouteOfPath("/", try_page), RouteOfPath("/docs", docs), RouteOfPath("/openapi.json", openapi)]


async def _call_endpoint(endpoint: Endpoint, request: Request) -> Response:
    """Return the endpoint's response, or an error response like the application's."""
    try:
        return await endpoint(request)
    except Exception as error:
        return await _answer_error(request, error)


async def _answer_error(request: Request, error: Exception) -> Response:
    form = find_protocol(request.scope["path"]).error
    if isinstance(error, RequestError):
        response = error_response(error.status, error.message, error.retry_after, form)
        return UnreadBodyResponse.from_response(response) if error.has_unread_body else response
    if isinstance(error, HTTPException):
        response = error_response(error.status_code, str(error.detail), form=form)
        if methods := (error.headers or {}).get("Allow"):
            # HEAD is answered like GET.
            names = {*methods.split(", "), *(["HEAD"] if "GET" in methods else [])}
            response.headers["allow"] = ", ".join(sorted(names))
        return response
    fields = {"fields": {"request_id": current_request_id()}}
    LOG.error("error: %s %s: %s: %s", request.method, request.url.path, type(error).__name__, error, extra=fields)
    return error_response(500, "the server failed on this request", form=form)


def _end_span(record: RequestRecord, span: RequestSpan, scope: Any, route: str, status: int) -> None:
    attributes = {
        "http.request.method": scope["method"],
        "http.response.status_code": status,
        "http.route": route,
        "bert.model": record.model,
        "bert.texts": record.num_texts,
        "bert.key": record.client.name,
        "bert.request_id": record.id,
    }
    span.end(f"{scope['method']} {route}", attributes, status >= 500)


class Guard:
    """ASGI middleware that checks API keys, refuses requests while draining, and counts requests."""

    def __init__(self, app: Starlette, state: ServerState):
        """Wrap an application."""
        self._app = app
        self._state = state
        routes = [route for route in app.routes if isinstance(route, RouteOfPath)]
        self._paths = {route.path for route in routes if "{" not in route.path}
        # Names and versions of models are no part of a metric's path.
        self._patterns = [
            (route.path_regex, route.path.replace("/versions/{version}", "").replace("{name}", "NAME"))
            for route in routes
            if "{" in route.path
        ]
        # Call these endpoints directly: for a short text, routing takes longer than all other work.
        self._posts = {
            route.path: route.endpoint for route in routes if route.methods == {"POST"} and "{" not in route.path
        }

    async def __call__(self, scope: Any, receive: Callable, send: Callable) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = self._state
        if state.metrics_port and scope["server"] and scope["server"][1] == state.metrics_port:
            await self._answer_scrape(scope, receive, send)
            return
        start_time = time.monotonic()
        record = begin_request(scope)
        received_scope = scope
        scope = normalize_scope(scope, state.root_path)
        path = scope["path"]
        status = 500
        if state.spans and path not in PUBLIC_PATHS:
            use_span(record, state.spans.start(Headers(scope=scope)))

        async def send_recorded(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = with_ids(message, record)
                if state.is_ending:
                    # Proxies and clients then use another server for their next request.
                    message = message | {"headers": [*message["headers"], (b"connection", b"close")]}
            await send(message)

        state.running += 1
        try:
            answer: Any = self._check_access(scope, path, record)
            if answer is None:
                endpoint = self._posts.get(path) if scope["method"] == "POST" else None
                answer = await _call_endpoint(endpoint, Request(scope, receive)) if endpoint else self._app
            await answer(scope, receive, send_recorded)
        finally:
            state.running -= 1
            seconds = time.monotonic() - start_time
            metrics = state.service.metrics
            route = self._path_label(path)
            metrics.count_request(route, status, record.model, seconds)
            if record.client.name:
                metrics.count_key(record.client.name, status, record.num_texts)
            # Probes come every second, and would hide everything else.
            if state.request_log and (path not in PUBLIC_PATHS or status >= 400):
                state.request_log.add(record, received_scope, status, seconds)
            if record.span:
                _end_span(record, record.span, received_scope, route, status)

    def _path_label(self, path: str) -> str:
        """Return the path for metrics: each path that a client invents would become a time series."""
        if path in self._paths:
            return path
        return next((label for pattern, label in self._patterns if pattern.match(path)), "other")

    async def _answer_scrape(self, scope: Any, receive: Callable, send: Callable) -> None:
        """Answer a request to --metrics_port, which only has paths for monitoring."""
        scope = normalize_scope(scope, "")
        is_allowed = scope["path"] in (*PUBLIC_PATHS, "/metrics") and scope["method"] == "GET"
        refusal = error_response(404, "this port only has /metrics, /health and /ready")
        answer: Any = self._app if is_allowed else refusal
        await answer(scope, receive, send)

    def _check_access(self, scope: Any, path: str, record: RequestRecord) -> Response | None:
        if path in PUBLIC_PATHS:
            return None
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")

        def refuse(status: int, message: str, retry_after: int = 0) -> Response:
            return error_response(status, message, retry_after, find_protocol(path).error)

        if self._state.allowed_hosts and not is_allowed_host(host, self._state.allowed_hosts):
            return refuse(400, f"the host {host!r:.80} is not served here (--allowed_hosts)")
        client = self._state.keys.find_client(headers.get(b"authorization", b"").decode("latin-1"))
        if client is None:
            refusal = refuse(401, "an API key is needed: Authorization: Bearer KEY")
            # On a page, let the browser ask for the key as a password.
            if path in ("/", "/docs"):
                refusal.headers["www-authenticate"] = 'Basic realm="bert_cli"'
            return refusal
        record.client = client
        if self._state.is_draining:
            return refuse(503, "the server is ending", 1)
        return None
