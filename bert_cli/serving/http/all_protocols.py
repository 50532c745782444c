"""All protocols, and their description as an OpenAPI document that clients can use."""

from collections.abc import Iterator, Mapping

from bert_cli import __version__
from bert_cli.base.json_files import Json, JsonObject
from bert_cli.serving.http import kserve, native, openai, tensorflow_serving, text_embeddings
from bert_cli.serving.http.protocol import Protocol, Route, ServerState
from bert_cli.serving.http.schemas import TEXT, Schema

PROTOCOLS: tuple[Protocol, ...] = (
    native.PROTOCOL,
    openai.PROTOCOL,
    text_embeddings.PROTOCOL,
    tensorflow_serving.PROTOCOL,
    kserve.PROTOCOL,
)


def find_protocol(path: str) -> Protocol:
    """Return the protocol that has a path, or the first one if none has it."""
    return next((protocol for protocol in PROTOCOLS if protocol.has(path)), PROTOCOLS[0])


# Paths that need no API key.
PUBLIC_PATHS = frozenset(route.path for protocol in PROTOCOLS for route in protocol.routes if route.is_public)
_JSON = "application/json"
_BODY_ERRORS = {
    400: "not JSON, or a wrong type",
    404: "no such model",
    408: "the request did not end in time",
    413: "too large",
    415: "a Content-Encoding other than gzip",
    429: "too many texts wait, or came with this API key; Retry-After has the seconds until another try",
    504: "no answer within --request_timeout",
}
_SCHEMES: JsonObject = {"bearer": {"type": "http", "scheme": "bearer"}, "basic": {"type": "http", "scheme": "basic"}}


def describe_routes(state: ServerState) -> JsonObject:
    """Return the OpenAPI document for a server.

    Args:
        state: with keys, routes that are not public have security schemes.
    """
    paths: dict[str, dict[str, Json]] = {}
    for protocol in PROTOCOLS:
        for route in protocol.routes:
            if route.summary:
                paths.setdefault(route.path, {})[route.method.lower()] = _operation(protocol, route, state)
    document: JsonObject = {
        "openapi": "3.1.0",
        "info": {"title": "bert_cli", "version": __version__},
        "paths": paths,
    }
    return document | ({"components": {"securitySchemes": _SCHEMES}} if state.keys else {})


def _operation(protocol: Protocol, route: Route, state: ServerState) -> JsonObject:
    words = route.path.replace("{", "").replace("}", "").replace(":", "/").split("/")
    operation: JsonObject = {
        "operationId": "_".join([route.method.lower(), *filter(None, words)]),
        "tags": [protocol.name],
        "summary": route.summary,
        "description": route.description,
        "responses": {str(status): response for status, response in _responses(protocol, route, state)},
    }
    if names := [word[1:].partition("}")[0] for word in route.path.split("/") if word.startswith("{")]:
        operation["parameters"] = [{"name": name, "in": "path", "required": True, "schema": TEXT} for name in names]
    if route.request is not None:
        content = {_JSON: {"schema": route.request, "example": route.request_example}}
        operation["requestBody"] = {"required": True, "content": content}
    if state.keys and not route.is_public:
        operation["security"] = [{name: []} for name in _SCHEMES]
    return operation


def _responses(protocol: Protocol, route: Route, state: ServerState) -> Iterator[tuple[int, JsonObject]]:
    answer: JsonObject = {"description": "the answer"}
    if route.response is not None:
        answer["content"] = {_JSON: {"schema": route.response, "example": route.response_example}}
    else:
        answer["content"] = {"text/plain": {"schema": TEXT}}
    yield 200, answer
    for status, meaning in sorted(_errors(route, state).items()):
        # If a server is ending, it describes its state and not an error.
        schema: Schema | None = route.response if route.is_public and status == 503 else protocol.error_schema
        yield status, {"description": meaning, "content": {_JSON: {"schema": schema}}}


def _errors(route: Route, state: ServerState) -> Mapping[int, str]:
    errors = dict(route.statuses) | {500: "the server failed on this request"}
    if not route.is_public:
        errors[503] = "the server is ending, or out of memory"
        if state.keys:
            errors[401] = "no or a wrong API key"
        if state.allowed_hosts:
            errors[400] = "another host (--allowed_hosts)"
    elif route.path.endswith("ready"):
        errors[503] = "the server is ending"
    if "{name}" in route.path:
        errors[404] = "no such model, or no such version of it"
    if state.keys and ("{name}" in route.path or route.request is not None):
        errors.setdefault(403, "the API key is for other models")
    return errors if route.request is None else errors | _BODY_ERRORS
