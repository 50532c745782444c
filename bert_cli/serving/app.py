"""The HTTP interface: routes, limits on what a client sends, API keys, metrics, and pages."""

import dataclasses
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException

from bert_cli import __version__
from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import LOG
from bert_cli.serving.access import (
    ApiKeys,
    RequestLog,
    RequestRecord,
    begin_request,
    current_request_id,
    is_allowed_host,
    normalize_scope,
    public_prefix,
    with_request_id,
)
from bert_cli.serving.requests import parse_object, read_body
from bert_cli.serving.responses import (
    RequestError,
    UnreadBodyResponse,
    error_response,
    json_response,
    render_page,
    route_arguments,
)
from bert_cli.serving.service import Service

# Paths that need no API key.
_PUBLIC_PATHS = ("/health", "/ready")


@dataclasses.dataclass
class State:
    """State that all requests share.

    Attributes:
        service: answers the requests.
        keys: API keys.
        root_path: path below which a proxy publishes the server, or "".
        request_log: gets a line per request, or None.
        is_ending: whether the server was asked to end; GET /ready is then 503.
        is_draining: whether new requests are refused, because the server is about to end.
        running: number of requests without a complete response.
        metrics_port: port on which GET /metrics needs no API key, or None.
    """

    service: Service
    keys: ApiKeys
    root_path: str
    request_log: RequestLog | None
    metrics_port: int | None = None
    is_ending: bool = False
    is_draining: bool = False
    running: int = 0


def make_app(state: State) -> FastAPI:
    """Return the FastAPI application with all routes."""
    service = state.service
    limits = service.limits
    # Disable FastAPI's redirects: they are absolute, and contain the scheme and host between proxy
    # and server. Disable its openapi.json: it would store every prefix that a client invents.
    options: dict[str, Any] = {"docs_url": None, "redoc_url": None, "openapi_url": None, "redirect_slashes": False}
    app = FastAPI(title="bert_cli", version=__version__, **options)

    async def answer_post(request: Request, answer: Callable[[JsonObject], Awaitable[JsonObject]]) -> Response:
        body = await read_body(request, limits.max_body_bytes, limits.request_timeout)
        # Refuse before the body is parsed: an overloaded server has no time for that.
        service.refuse_late()
        return json_response(await answer(parse_object(body)))

    @app.post("/predict", **route_arguments("predict"))
    async def predict(request: Request) -> Response:
        return await answer_post(request, service.predict)

    @app.post("/v1/models/{name}:predict", **route_arguments("instances"))
    async def predict_instances(name: str, request: Request) -> Response:
        return await answer_post(request, lambda body: service.predict_instances(name, body))

    @app.post("/v1/embeddings", **route_arguments("embeddings"))
    async def embeddings(request: Request) -> Response:
        return await answer_post(request, service.embeddings)

    @app.post("/explain", **route_arguments("explain"))
    async def explain(request: Request) -> Response:
        return await answer_post(request, service.explain)

    @app.post("/v1/models/{name}/versions/{version}:predict", **route_arguments("instances"))
    async def predict_version(name: str, version: str, request: Request) -> Response:
        service.check_version(name, version)
        return await answer_post(request, lambda body: service.predict_instances(name, body))

    @app.get("/v1/models", **route_arguments("models"))
    async def models() -> Response:
        return json_response(service.list_models())

    @app.get("/health", **route_arguments("health"))
    async def health() -> Response:
        return json_response({"status": "ok"})

    @app.get("/ready", **route_arguments("ready"))
    async def ready() -> Response:
        if state.is_ending:
            return json_response({"status": "ending"}, 503)
        return json_response({"status": "ready"})

    @app.get("/metrics", **route_arguments("metrics"))
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    _add_model_routes(app, service)
    _add_pages(app, state)
    for error_type in (RequestError, HTTPException, Exception):
        app.add_exception_handler(error_type, _answer_error)
    return app


def _add_model_routes(app: FastAPI, service: Service) -> None:
    @app.get("/v1/models/{name}", **route_arguments("model"))
    async def model(name: str) -> Response:
        if name.endswith(":predict"):
            raise HTTPException(405, headers={"Allow": "POST"})
        return json_response(service.get_model_status(name))

    @app.post("/v1/models/{name}", include_in_schema=False)
    async def other_operation(name: str) -> Response:
        model, colon, operation = name.partition(":")
        if not colon:
            raise HTTPException(405, headers={"Allow": "GET"})
        service.get_model_status(model)
        raise RequestError(404, f"there is no operation {operation!r:.60}; :predict answers instances")

    @app.get("/v1/models/{name}/versions/{version}", **route_arguments("model"))
    async def model_version(name: str, version: str) -> Response:
        service.check_version(name, version)
        return json_response(service.get_model_status(name))

    @app.get("/v1/models/{name}/metadata", **route_arguments("metadata"))
    async def metadata(name: str) -> Response:
        return json_response(service.get_model_metadata(name))


def _add_pages(app: FastAPI, state: State) -> None:
    def page(name: str, request: Request, **values: Any) -> Response:
        text, headers = render_page(name, prefix=public_prefix(request.headers, state.root_path), **values)
        return Response(text, media_type="text/html", headers=headers)

    @app.get("/", include_in_schema=False)
    async def try_page(request: Request) -> Response:
        return page("try.html", request, models=state.service.describe_models())

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return page("api.html", request, api=app.openapi())

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi(request: Request) -> Response:
        prefix = public_prefix(request.headers, state.root_path)
        return json_response(app.openapi() | {"servers": [{"url": prefix or "/"}]})


async def _call_endpoint(endpoint: Callable[[Request], Awaitable[Response]], request: Request) -> Response:
    """Return the endpoint's response, or an error response like the application's."""
    try:
        return await endpoint(request)
    except Exception as error:
        return await _answer_error(request, error)


async def _answer_error(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestError):
        is_plain = request.url.path.endswith(":predict")
        response = error_response(error.status, error.message, error.retry_after, is_plain)
        return UnreadBodyResponse.from_response(response) if error.has_unread_body else response
    if isinstance(error, HTTPException):
        response = error_response(error.status_code, str(error.detail))
        if methods := (error.headers or {}).get("Allow"):
            # HEAD is answered like GET.
            response.headers["allow"] = methods.replace("GET", "GET, HEAD")
        return response
    fields = {"fields": {"request_id": current_request_id()}}
    LOG.error("error: %s %s: %s: %s", request.method, request.url.path, type(error).__name__, error, extra=fields)
    return error_response(500, "the server failed on this request")


class Guard:
    """ASGI middleware that checks API keys, refuses requests while draining, and counts requests."""

    def __init__(self, app: FastAPI, state: State, allowed_hosts: Sequence[str] = ()):
        """Wrap an application.

        Args:
            app: the application.
            state: keys, counts and whether the server is draining.
            allowed_hosts: see `is_allowed_host`; if empty, all hosts are allowed.
        """
        self._app = app
        self._allowed_hosts = allowed_hosts
        self._state = state
        self._paths = {getattr(route, "path", "") for route in app.routes}
        # Call these endpoints directly: for a short text, FastAPI's routing takes longer than all
        # other work.
        self._posts = {
            route.path: route.endpoint
            for route in app.routes
            if isinstance(route, APIRoute) and route.methods == {"POST"} and "{" not in route.path
        }

    async def __call__(self, scope: Any, receive: Callable, send: Callable) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = self._state
        if state.metrics_port and scope["server"][1] == state.metrics_port:
            await self._answer_scrape(scope, receive, send)
            return
        start_time = time.monotonic()
        record = begin_request(scope)
        received_scope = scope
        scope = normalize_scope(scope, state.root_path)
        path = scope["path"]
        status = 500

        async def send_recorded(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = with_request_id(message, record.id)
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
            metrics.count_request(self._path_label(path), status, record.model, seconds)
            if record.key:
                metrics.count_key(record.key, status, record.num_texts)
            # Probes come every second, and would hide everything else.
            if state.request_log and (path not in _PUBLIC_PATHS or status >= 400):
                state.request_log.add(record, received_scope, status, seconds)

    def _path_label(self, path: str) -> str:
        """Return the path for metrics: each path that a client invents would become a time series."""
        unknown_path = "/v1/models/NAME:predict" if path.endswith(":predict") else "other"
        return path if path in self._paths else unknown_path

    async def _answer_scrape(self, scope: Any, receive: Callable, send: Callable) -> None:
        """Answer a request to --metrics_port, which only has paths for monitoring."""
        scope = normalize_scope(scope, "")
        is_allowed = scope["path"] in (*_PUBLIC_PATHS, "/metrics") and scope["method"] == "GET"
        refusal = error_response(404, "this port only has /metrics, /health and /ready")
        answer: Any = self._app if is_allowed else refusal
        await answer(scope, receive, send)

    def _check_access(self, scope: Any, path: str, record: RequestRecord) -> Response | None:
        if path in _PUBLIC_PATHS:
            return None
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if self._allowed_hosts and not is_allowed_host(host, self._allowed_hosts):
            return error_response(400, f"the host {host!r:.80} is not served here (--allowed_hosts)")
        key = self._state.keys.find_client(headers.get(b"authorization", b"").decode("latin-1"))
        record.key = key or ""
        if key is None:
            refusal = error_response(401, "an API key is needed: Authorization: Bearer KEY")
            # On a page, let the browser ask for the key as a password.
            if path in ("/", "/docs"):
                refusal.headers["www-authenticate"] = 'Basic realm="bert_cli"'
            return refusal
        if self._state.is_draining:
            return error_response(503, "the server is ending", 1)
        return None
