"""The HTTP interface: routes, limits on what a client sends, API keys, metrics, and pages."""

import asyncio
import base64
import binascii
import hmac
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from bert_cli.base.log import LOG
from bert_cli.base.version import __version__
from bert_cli.serving.errors import RequestError
from bert_cli.serving.metrics import Metrics
from bert_cli.serving.openapi import described
from bert_cli.serving.pages import render_page
from bert_cli.serving.paths import public_prefix, routed
from bert_cli.serving.payloads import Json, parse_object
from bert_cli.serving.responses import error_response, json_response
from bert_cli.serving.service import Service

_OPEN = ("/health", "/ready")  # without an API key
_READ_ON = 8  # times --max_body_bytes: of a larger body no more is read


class State:
    """What all requests share.

    Attributes:
        keys: API keys, () if none is needed.
        root_path: path below which a proxy publishes the server, "" for none.
        is_draining: whether the server is about to end.
        running: number of requests that are not yet answered.
    """

    def __init__(self, service: Service, keys: Sequence[str], root_path: str):
        self.service = service
        self.root_path = root_path
        self.keys = [key.encode() for key in keys]
        self.is_draining = False
        self.running = 0
        self.metrics = Metrics(service)

    def is_allowed(self, authorization: str) -> bool:
        """Whether a request's Authorization header has a key: as a bearer token, or as the password
        that a browser asks for.
        """
        if not self.keys:
            return True
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() == "basic":
            try:
                given = base64.b64decode(given, validate=True).decode().partition(":")[2]
            except (binascii.Error, ValueError):
                return False
        elif scheme.lower() != "bearer":
            return False
        found = given.strip().encode()
        # All are compared, in the same time.
        return sum(hmac.compare_digest(found, key) for key in self.keys) > 0


async def read_body(request: Request, most: int, seconds: float) -> bytes:
    """The body; RequestError 413 for one that is too large, 408 for one that does not end."""
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > _READ_ON * most:
        raise RequestError(413, f"the body has {int(length):,} bytes; {most:,} are allowed (--max_body_bytes)")
    parts = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                size += len(part)
                # What is too large is read to its end, but not kept: many clients send all before
                # they read, and would see no answer but a connection that is reset.
                if size <= most:
                    parts.append(part)
                elif size > _READ_ON * most:
                    break
    except ClientDisconnect:
        raise RequestError(400, "the connection was closed within the request") from None
    except TimeoutError:
        raise RequestError(408, f"the request did not end within {seconds} s") from None
    if size > most:
        raise RequestError(413, f"the body is too large; {most:,} bytes are allowed (--max_body_bytes)")
    return b"".join(parts)


def make_app(state: State) -> FastAPI:
    """The application, for uvicorn."""
    service = state.service
    limits = service.limits
    # Its redirects would be absolute, with the scheme and host that the proxy uses. Its openapi.json
    # would keep every prefix that a client makes up.
    options: dict[str, Any] = {"docs_url": None, "redoc_url": None, "openapi_url": None, "redirect_slashes": False}
    app = FastAPI(title="bert_cli", version=__version__, **options)

    async def posted(request: Request, answer: Callable[[Json], Awaitable[Json]]) -> Response:
        body = await read_body(request, limits.max_body_bytes, limits.request_timeout)
        return json_response(await answer(parse_object(body)))

    @app.post("/predict", **described("predict"))
    async def predict(request: Request) -> Response:
        return await posted(request, service.predict)

    @app.post("/v1/models/{name}:predict", **described("instances"))
    async def predict_instances(name: str, request: Request) -> Response:
        return await posted(request, lambda body: service.predict_instances(name, body))

    @app.post("/v1/embeddings", **described("embeddings"))
    async def embeddings(request: Request) -> Response:
        return await posted(request, service.embeddings)

    @app.post("/explain", **described("explain"))
    async def explain(request: Request) -> Response:
        return await posted(request, service.explain)

    @app.post("/v1/models/{name}/versions/{version}:predict", **described("instances"))
    async def predict_version(name: str, version: str, request: Request) -> Response:
        service.check_version(name, version)
        return await posted(request, lambda body: service.predict_instances(name, body))

    @app.get("/v1/models", **described("models"))
    async def models() -> Response:
        return json_response(service.listing())

    @app.get("/health", **described("health"))
    async def health() -> Response:
        return json_response({"status": "ok"})

    @app.get("/ready", **described("ready"))
    async def ready() -> Response:
        if state.is_draining:
            return json_response({"status": "ending"}, 503)
        return json_response({"status": "ready"})

    @app.get("/metrics", **described("metrics"))
    async def metrics() -> Response:
        return Response(state.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    _add_model_routes(app, service)
    _add_pages(app, state)
    for kind in (RequestError, HTTPException, Exception):
        app.add_exception_handler(kind, _answer_error)
    return app


def _add_model_routes(app: FastAPI, service: Service) -> None:
    @app.get("/v1/models/{name}", **described("model"))
    async def model(name: str) -> Response:
        return json_response(service.model_status(name))

    @app.get("/v1/models/{name}/versions/{version}", **described("model"))
    async def model_version(name: str, version: str) -> Response:
        service.check_version(name, version)
        return json_response(service.model_status(name))

    @app.get("/v1/models/{name}/metadata", **described("metadata"))
    async def metadata(name: str) -> Response:
        return json_response(service.model_metadata(name))


def _add_pages(app: FastAPI, state: State) -> None:
    def page(name: str, request: Request, **values: Any) -> Response:
        text, headers = render_page(name, prefix=public_prefix(request.headers, state.root_path), **values)
        return Response(text, media_type="text/html", headers=headers)

    @app.get("/", include_in_schema=False)
    async def try_page(request: Request) -> Response:
        return page("try.html", request, models=[model.description() for model in state.service.models.values()])

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return page("api.html", request, api=app.openapi())

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi(request: Request) -> Response:
        prefix = public_prefix(request.headers, state.root_path)
        return json_response(app.openapi() | {"servers": [{"url": prefix or "/"}]})


async def _answered(endpoint: Callable[[Request], Awaitable[Response]], request: Request) -> Response:
    """What an endpoint answers, as the application would."""
    try:
        return await endpoint(request)
    except Exception as error:
        return await _answer_error(request, error)


async def _answer_error(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestError):
        return error_response(error.status, error.message, error.retry_after, request.url.path.endswith(":predict"))
    if isinstance(error, HTTPException):
        return error_response(error.status_code, str(error.detail))
    LOG.error("error: %s %s: %s: %s", request.method, request.url.path, type(error).__name__, error)
    return error_response(500, "the server failed on this request")


class Guard:
    """Around the application: API keys, the end of the server, metrics. An ASGI application."""

    def __init__(self, app: FastAPI, state: State):
        self._app = app
        self._state = state
        self._paths = {getattr(route, "path", "") for route in app.routes}
        # FastAPI's own way to an endpoint takes longer than all else that is done for a short text.
        self._posts = {
            route.path: route.endpoint
            for route in app.routes
            if isinstance(route, APIRoute) and route.methods == {"POST"} and "{" not in route.path
        }

    async def __call__(self, scope: dict, receive: Callable, send: Callable) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = self._state
        scope = routed(scope, state.root_path)
        path = scope["path"]
        refused = self._refused(scope, path)
        if refused:
            await refused(scope, receive, send)
            return
        began = time.monotonic()
        status = 500

        async def noting(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        state.running += 1
        try:
            endpoint = self._posts.get(path) if scope["method"] == "POST" else None
            answer = await _answered(endpoint, Request(scope, receive)) if endpoint else self._app
            await answer(scope, receive, noting)
        finally:
            state.running -= 1
            # Each path that a client makes up would be a time series of its own.
            shown = path if path in self._paths else "/v1/models/NAME:predict" if path.endswith(":predict") else "other"
            state.metrics.count(shown, status, time.monotonic() - began)

    def _refused(self, scope: dict, path: str) -> Response | None:
        if path in _OPEN:
            return None
        headers = dict(scope["headers"])
        if not self._state.is_allowed(headers.get(b"authorization", b"").decode("latin-1")):
            refused = error_response(401, "an API key is needed: Authorization: Bearer KEY")
            if path in ("/", "/docs"):  # a browser then asks for it, as a password
                refused.headers["www-authenticate"] = 'Basic realm="bert_cli"'
            return refused
        if self._state.is_draining:
            return error_response(503, "the server is ending", 1)
        return None
