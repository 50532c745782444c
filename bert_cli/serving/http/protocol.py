"""Protocols: routes and error forms that clients use."""

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from starlette.responses import Response

from bert_cli.base.json_files import Json, JsonObject
from bert_cli.runtime.spans import Spans
from bert_cli.serving.access import RequestLog
from bert_cli.serving.http.schemas import Schema
from bert_cli.serving.keys import ApiKeys
from bert_cli.serving.requests import parse_object
from bert_cli.serving.responses import ErrorForm, RequestError
from bert_cli.serving.served_model import ServedModel
from bert_cli.serving.service import Service

# Every model has this version in protocols with versions, even after --watch replaces the model.
VERSION = "1"


@dataclasses.dataclass
class ServerState:
    """State that all requests share.

    Attributes:
        service: answers the requests.
        keys: API keys.
        root_path: path below which a proxy publishes the server, or "".
        request_log: gets a line per request, or None.
        metrics_port: port on which GET /metrics needs no API key, or None.
        allowed_hosts: see `addresses.is_allowed_host`; if empty, all hosts are allowed.
        spans: spans for OpenTelemetry, or None.
        is_ending: whether the server was asked to end; GET /ready is then 503.
        is_draining: whether new requests are refused, because the server is about to end.
        running: number of requests without a complete response.
    """

    service: Service
    keys: ApiKeys
    root_path: str
    request_log: RequestLog | None
    metrics_port: int | None = None
    allowed_hosts: Sequence[str] = ()
    spans: Spans | None = None
    is_ending: bool = False
    is_draining: bool = False
    running: int = 0


class RouteRequest(NamedTuple):
    """A request to a route.

    Attributes:
        state: the server's state.
        names: variables in the path, such as the model's name.
        headers: the request's headers, in lower case.
        body: bytes that the client sent after the headers.
    """

    state: ServerState
    names: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def service(self) -> Service:
        """Return the service."""
        return self.state.service

    def parse(self) -> JsonObject:
        """Return the JSON object in the body; raise RequestError 400 for anything else."""
        return parse_object(self.body)

    def find_model(self, name: object) -> ServedModel:
        """Return the model with a name, or the client's default; see Service.find_model."""
        return self.service.find_model(name)

    def find_named_model(self) -> ServedModel:
        """Return the model in the path; see Service.find_model.

        Raises:
            RequestError: 404 for another version; and as find_model.
        """
        model = self.find_model(self.names["name"])
        version = self.names.get("version", VERSION)
        if version != VERSION:
            raise RequestError(404, f"no version {version!r:.40} of the model {model.name}; there is {VERSION}")
        return model


@dataclasses.dataclass(frozen=True)
class Route:
    """A method and a path, with the function that answers and the description for clients.

    Attributes:
        method: GET or POST.
        path: path with variables, such as /v1/models/{name}.
        answer: returns the response, or raises RequestError.
        summary, description: texts for clients; without a summary, the route is not described.
        request: schema for the request body.
        response: schema for the answer; None if it is not JSON.
        request_example, response_example: examples; None if the route has no JSON.
        is_public: whether requests need no API key, and are logged only if they fail.
        statuses: errors that other routes do not have, with their meaning.
    """

    method: str
    path: str
    answer: Callable[[RouteRequest], Awaitable[Response]]
    summary: str = ""
    description: str = ""
    request: Schema | None = None
    response: Schema | None = None
    request_example: JsonObject | None = None
    response_example: Json = None
    is_public: bool = False
    statuses: Mapping[int, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Protocol:
    """Routes that belong to one interface.

    Attributes:
        name: name for clients.
        prefixes: paths below these have this protocol's error form, even if they are unknown.
        routes: the routes; a path with variables comes after the paths that it matches, too.
        error: error form.
        error_schema: schema for them.
    """

    name: str
    prefixes: Sequence[str]
    routes: Sequence[Route]
    error: ErrorForm
    error_schema: Schema

    def has(self, path: str) -> bool:
        """Return whether a path belongs to the protocol."""
        is_below = any(path.startswith(f"{prefix}/") for prefix in self.prefixes)
        return is_below or any(route.path == path for route in self.routes)


def input_fields(model: ServedModel) -> tuple[str, ...]:
    """Return the names of the texts that a model takes."""
    first, second = model.fields
    return (first, second) if model.takes_pairs or second != "text_b" else (first,)


def plain_error(status: int, message: str, members: JsonObject) -> JsonObject:
    """Return an error body with a text, as TensorFlow Serving and KServe use it.

    Args:
        status: HTTP status code.
        message: text for the client.
        members: further members.
    """
    return {"error": message} | members


def with_versions(route: Route, prefix: str) -> tuple[Route, Route]:
    """Return a route, and the same route with a version after `prefix` in its path."""
    path = f"{prefix}/versions/{{version}}{route.path.removeprefix(prefix)}"
    return route, dataclasses.replace(route, path=path)
