"""KServe's protocol v2 (Open Inference Protocol): health, metadata and inference."""

from starlette.responses import Response

from bert_cli import __version__
from bert_cli.base.json_files import JsonObject
from bert_cli.serving.http.protocol import (
    VERSION,
    Protocol,
    Route,
    RouteRequest,
    input_fields,
    plain_error,
    with_versions,
)
from bert_cli.serving.http.schemas import (
    ANYTHING,
    INTEGER,
    SWITCH,
    array,
    closed_object_schema,
    nullable,
    open_object_schema,
)
from bert_cli.serving.http.schemas import TEXT as TEXT_SCHEMA
from bert_cli.serving.http.tensors import TensorRequest, choose_outputs, describe_tensor, tensor_response
from bert_cli.serving.items import TEXT
from bert_cli.serving.requests import parse_columns, refuse_other_members
from bert_cli.serving.responses import RequestError, json_response


async def _infer(call: RouteRequest) -> Response:
    model, service = call.find_named_model(), call.service
    request = TensorRequest(call)
    refuse_other_members(request.values, ("id", "parameters", "inputs", "outputs"))
    identifier = request.values.get("id")
    if identifier is not None and not isinstance(identifier, str):
        raise RequestError(400, "'id' is not a text")
    columns = choose_outputs(request.values, model.columns)
    items = parse_columns(request.columns(), model, service.limits, "'inputs'")
    answer: JsonObject = {"model_name": model.name, "model_version": VERSION}
    if identifier:
        answer["id"] = identifier
    return tensor_response(answer, columns, await service.answer(model, items))


async def _model(call: RouteRequest) -> Response:
    model = call.find_named_model()
    return json_response(
        {
            "name": model.name,
            "versions": [VERSION],
            "platform": "bert_cli",
            "inputs": [describe_tensor(field, TEXT) for field in input_fields(model)],
            "outputs": [describe_tensor(name, datatype, -1, width) for name, datatype, width in model.columns],
        }
    )


async def _model_ready(call: RouteRequest) -> Response:
    return json_response({"name": call.find_named_model().name, "ready": True})


async def _server(call: RouteRequest) -> Response:
    return json_response({"name": "bert_cli", "version": __version__, "extensions": ["binary_tensor_data"]})


async def _live(call: RouteRequest) -> Response:
    return json_response({"live": True})


async def _ready(call: RouteRequest) -> Response:
    is_ready = not call.state.is_ending
    return json_response({"ready": is_ready}, 200 if is_ready else 503)


_MODEL = "/v2/models/{name}"
_TENSOR = open_object_schema(
    ("name", "datatype", "shape"), name=TEXT_SCHEMA, datatype=TEXT_SCHEMA, shape=array(INTEGER)
)
_INPUT = closed_object_schema(
    ("name", "datatype", "shape"),
    name=TEXT_SCHEMA,
    datatype={"type": "string", "enum": (TEXT,)},
    shape=array(INTEGER, least=1),
    data=array(ANYTHING),
    parameters=nullable(open_object_schema()),
)
_INFER = Route(
    "POST",
    f"{_MODEL}/infer",
    _infer,
    "Answer tensors of texts, as KServe's protocol v2",
    "Each input is a tensor of BYTES with one text per row, and is named like a field of an object in POST /predict. "
    "The model's metadata has the outputs. Binary data, as Triton's client sends it, is read and answered.",
    closed_object_schema(
        ("inputs",),
        id=nullable(TEXT_SCHEMA),
        inputs=array(_INPUT, least=1),
        outputs=nullable(
            array(open_object_schema(("name",), name=TEXT_SCHEMA, parameters=nullable(open_object_schema())))
        ),
        parameters=nullable(open_object_schema()),
    ),
    open_object_schema(
        ("model_name", "outputs"), model_name=TEXT_SCHEMA, model_version=TEXT_SCHEMA, outputs=array(_TENSOR)
    ),
    {"inputs": [{"name": "text", "datatype": "BYTES", "shape": [1], "data": ["the film was lovely ."]}]},
    {
        "model_name": "default",
        "model_version": VERSION,
        "outputs": [
            {"name": "label", "datatype": "BYTES", "shape": [1], "data": ["good"]},
            {"name": "probabilities", "datatype": "FP32", "shape": [1, 2], "data": [0.1, 0.9]},
        ],
    },
)
_METADATA = Route(
    "GET",
    _MODEL,
    _model,
    "Inputs and outputs of a model, as KServe's protocol v2",
    "The sizes of probabilities follow the labels in GET /v1/models.",
    response=open_object_schema(
        ("name", "inputs", "outputs"), name=TEXT_SCHEMA, inputs=array(_TENSOR), outputs=array(_TENSOR)
    ),
    response_example={
        "name": "default",
        "versions": [VERSION],
        "platform": "bert_cli",
        "inputs": [{"name": "text", "datatype": "BYTES", "shape": [-1]}],
        "outputs": [{"name": "label", "datatype": "BYTES", "shape": [-1]}],
    },
)
_MODEL_READY = Route(
    "GET",
    f"{_MODEL}/ready",
    _model_ready,
    "Whether a model answers, as KServe's protocol v2",
    "A server has loaded all of its models before it takes requests.",
    response=open_object_schema(("ready",), name=TEXT_SCHEMA, ready=SWITCH),
    response_example={"name": "default", "ready": True},
)
PROTOCOL = Protocol(
    "KServe v2",
    ("/v2",),
    (
        *with_versions(_INFER, _MODEL),
        *with_versions(_MODEL_READY, _MODEL),
        *with_versions(_METADATA, _MODEL),
        Route(
            "GET",
            "/v2",
            _server,
            "Name and version of the server, as KServe's protocol v2",
            "Also the extensions of the protocol.",
            response=open_object_schema(
                ("name", "version", "extensions"), name=TEXT_SCHEMA, extensions=array(TEXT_SCHEMA)
            ),
            response_example={"name": "bert_cli", "version": __version__, "extensions": ["binary_tensor_data"]},
        ),
        Route(
            "GET",
            "/v2/health/live",
            _live,
            "Whether the process runs, as KServe's protocol v2",
            "Needs no API key.",
            response=open_object_schema(("live",), live=SWITCH),
            response_example={"live": True},
            is_public=True,
        ),
        Route(
            "GET",
            "/v2/health/ready",
            _ready,
            "Whether requests are taken, as KServe's protocol v2",
            "503 when the server is ending. Needs no API key.",
            response=open_object_schema(("ready",), ready=SWITCH),
            response_example={"ready": True},
            is_public=True,
        ),
    ),
    plain_error,
    open_object_schema(("error",), error=TEXT_SCHEMA),
)
