"""The server's first protocol: predictions as in the files of --input_file, state and metrics."""

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from bert_cli.base.json_files import JsonObject
from bert_cli.serving.access import current_client
from bert_cli.serving.http.protocol import Protocol, Route, RouteRequest
from bert_cli.serving.http.schemas import (
    ANYTHING,
    INTEGER,
    NUMBER,
    TEXT,
    Schema,
    any_of,
    array,
    closed_object_schema,
    nullable,
    open_object_schema,
)
from bert_cli.serving.items import Item
from bert_cli.serving.requests import parse_item, parse_items, refuse_other_members, with_indices
from bert_cli.serving.responses import json_response, openai_error
from bert_cli.serving.served_model import ServedModel
from bert_cli.settings.serving import Limits

_TEXT_EXAMPLE: JsonObject = {"text": "the film was lovely ."}
RECORD_EXAMPLE: JsonObject = {
    "index": 0,
    "text": "the film was lovely .",
    "label": "good",
    "probabilities": {"bad": 0.1, "good": 0.9},
}
# A text, a pair, or an object with texts.
ITEM = any_of(TEXT, array(TEXT), open_object_schema())
_MODEL: dict[str, Schema] = {"model": nullable(TEXT)}
_ID = any_of(TEXT, INTEGER, {"type": "null"})
_PAIR: dict[str, Schema] = {"text": TEXT, "text_b": nullable(TEXT), "id": _ID}
_QUESTION: dict[str, Schema] = {"question": TEXT, "context": TEXT, "id": _ID}
OPENAI_ERROR = open_object_schema(("error",), error=open_object_schema(("message", "code"), message=TEXT))


def _parse_body(body: JsonObject, model: ServedModel, limits: Limits) -> Item:
    """Return the item in a body, which may also name the model."""
    return parse_item({name: value for name, value in body.items() if name != "model"}, model, limits, "the body")


async def _predict(call: RouteRequest) -> Response:
    """Return one prediction, or a list if the request has `texts`."""
    body = call.parse()
    model, service = call.find_model(body.get("model")), call.service
    if "texts" not in body:
        item = _parse_body(body, model, service.limits)
        return json_response(with_indices(model, [item], await service.predict(model, [item]))[0])
    refuse_other_members(body, ("model", "texts"))
    items = parse_items(body["texts"], model, service.limits, "texts")
    return json_response({"predictions": with_indices(model, items, await service.predict(model, items))})


async def _explain(call: RouteRequest) -> Response:
    body = call.parse()
    model = call.find_model(body.get("model"))
    item = _parse_body(body, model, call.service.limits)
    return json_response(await call.service.explain(model, item))


async def _health(call: RouteRequest) -> Response:
    return json_response({"status": "ok"})


async def _ready(call: RouteRequest) -> Response:
    return json_response({"status": "ending"}, 503) if call.state.is_ending else json_response({"status": "ready"})


async def _metrics(call: RouteRequest) -> Response:
    return Response(call.service.metrics.text(current_client()), media_type=CONTENT_TYPE_LATEST)


_STATUS = open_object_schema(("status",), status=TEXT)
PROTOCOL = Protocol(
    "bert_cli",
    (),
    (
        Route(
            "POST",
            "/predict",
            _predict,
            "Answer a text, a pair, a question, or a list of them",
            'One item: {"text"}, {"text", "text_b"} for pairs, or {"question", "context"}. Several: {"texts": [...]}, '
            'each a string, a pair [a, b] or an object; the answer is then {"predictions": [...]} in the same order. '
            '"model" names one of several models. A text that was cut has "cut", the number of tokens that were left '
            "out.",
            any_of(
                closed_object_schema(("text",), **_PAIR, **_MODEL),
                closed_object_schema(("question", "context"), **_QUESTION, **_MODEL),
                closed_object_schema(("texts",), texts=array(ITEM), **_MODEL),
            ),
            open_object_schema(predictions=array(open_object_schema())),
            _TEXT_EXAMPLE,
            RECORD_EXAMPLE,
        ),
        Route(
            "POST",
            "/explain",
            _explain,
            "Which words mattered to a classifier",
            "The contribution of each word to the score of the predicted label.",
            closed_object_schema(("text",), **_PAIR, **_MODEL),
            open_object_schema(
                ("words",),
                words=array(open_object_schema(("word",), word=TEXT, share=nullable(NUMBER))),
                label=ANYTHING,
            ),
            _TEXT_EXAMPLE,
            {"label": "good", "probability": 0.9, "words": [{"word": "lovely", "share": 1.4}]},
            statuses={403: "the server gives no explanations (--explain=false)"},
        ),
        Route(
            "GET",
            "/health",
            _health,
            "Whether the process runs",
            "Needs no API key.",
            response=_STATUS,
            response_example={"status": "ok"},
            is_public=True,
        ),
        Route(
            "GET",
            "/ready",
            _ready,
            "Whether requests are taken",
            "503 when the server is ending. Needs no API key.",
            response=_STATUS,
            response_example={"status": "ready"},
            is_public=True,
        ),
        Route(
            "GET",
            "/metrics",
            _metrics,
            "Metrics in Prometheus' format",
            "Requests, seconds, texts that wait, texts that were cut.",
        ),
    ),
    openai_error,
    OPENAI_ERROR,
)
