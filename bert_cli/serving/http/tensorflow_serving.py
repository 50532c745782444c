"""TensorFlow Serving's REST protocol: rows or columns, model state and metadata."""

import dataclasses

from starlette.exceptions import HTTPException
from starlette.responses import Response

from bert_cli.base.json_files import JsonObject
from bert_cli.serving.http.native import ITEM, RECORD_EXAMPLE
from bert_cli.serving.http.openai import model_object
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
    Schema,
    any_of,
    array,
    closed_object_schema,
    open_object_schema,
    uniform_object_schema,
)
from bert_cli.serving.http.schemas import TEXT as TEXT_SCHEMA
from bert_cli.serving.items import BOOL, FP32, INT64, TEXT, Item
from bert_cli.serving.requests import parse_columns, parse_items, refuse_other_members, with_indices
from bert_cli.serving.responses import RequestError, json_response
from bert_cli.serving.served_model import ServedModel
from bert_cli.settings.serving import Limits

# Name for the only signature that a model has.
SIGNATURE = "serving_default"
_DATA_TYPES = {TEXT: "DT_STRING", FP32: "DT_FLOAT", INT64: "DT_INT64", BOOL: "DT_BOOL"}


def _parse_inputs(inputs: object, model: ServedModel, limits: Limits) -> list[Item]:
    """Return the items in columns; a list is the first field's column."""
    columns = {model.fields[0]: inputs} if isinstance(inputs, list) else inputs
    if not isinstance(columns, dict):
        raise RequestError(400, "'inputs': a list of texts, or an object with lists of texts, is needed")
    return parse_columns(columns, model, limits, "'inputs'")


async def _predict(call: RouteRequest) -> Response:
    """Return predictions for rows (`instances`), or columns for columns (`inputs`)."""
    model, service = call.find_named_model(), call.service
    body = call.parse()
    refuse_other_members(body, ("instances", "inputs", "signature_name"))
    if ("instances" in body) == ("inputs" in body):
        raise RequestError(400, "'instances' (rows) or 'inputs' (columns) is needed, and not both")
    if body.get("signature_name") not in (None, "", SIGNATURE):
        raise RequestError(400, f"'signature_name': there is only {SIGNATURE!r}")
    if "instances" in body:
        items = parse_items(body["instances"], model, service.limits, "instances")
        return json_response({"predictions": with_indices(model, items, await service.answer(model, items))})
    records = await service.answer(model, _parse_inputs(body["inputs"], model, service.limits))
    columns = {column.name: column.values(records) for column in model.columns}
    # With one output, the protocol has no names.
    return json_response({"outputs": columns if len(columns) > 1 else next(iter(columns.values()))})


async def _status(call: RouteRequest) -> Response:
    if any(name.endswith(":predict") for name in call.names.values()):
        raise HTTPException(405, headers={"Allow": "POST"})
    model = call.find_named_model()
    status: JsonObject = {"error_code": "OK", "error_message": ""}
    state: JsonObject = {"version": VERSION, "state": "AVAILABLE", "status": status}
    return json_response({"model_version_status": [state], **model_object(call.service, model)})


async def _refuse_operation(call: RouteRequest) -> Response:
    name, colon, operation = call.names["name"].partition(":")
    if not colon:
        raise HTTPException(405, headers={"Allow": "GET"})
    call.find_model(name)
    raise RequestError(404, f"there is no operation {operation!r:.60}; :predict answers instances")


def _tensor(name: str, datatype: str, width: int | None = None) -> JsonObject:
    sizes = ("-1",) if width is None else ("-1", str(width))
    shape: JsonObject = {"dim": [{"size": size, "name": ""} for size in sizes], "unknown_rank": False}
    return {"dtype": _DATA_TYPES[datatype], "tensor_shape": shape, "name": name}


async def _metadata(call: RouteRequest) -> Response:
    model = call.find_named_model()
    signature: JsonObject = {
        "inputs": {field: _tensor(field, TEXT) for field in input_fields(model)},
        "outputs": {column.name: _tensor(*column) for column in model.columns},
        "method_name": "tensorflow/serving/predict",
    }
    return json_response(
        {
            "model_spec": {"name": model.name, "signature_name": "", "version": VERSION},
            "metadata": {"signature_def": {"signature_def": {SIGNATURE: signature}}},
        }
    )


_MODEL = "/v1/models/{name}"
_SIGNATURE_NAME: Schema = {"enum": (SIGNATURE, "", None)}
_PREDICT = Route(
    "POST",
    f"{_MODEL}:predict",
    _predict,
    "Answer rows or columns, as TensorFlow Serving's REST API",
    "Rows: each instance is a string, a pair [a, b] or an object, as in POST /predict. Columns: inputs is an object "
    'with a list of texts per field, such as {"text": [...], "text_b": [...]}, or one such list; the answer is then '
    '{"outputs": {...}} with a list per output in the metadata, or one list for a single output.',
    any_of(
        closed_object_schema(("instances",), instances=array(ITEM), signature_name=_SIGNATURE_NAME),
        closed_object_schema(
            ("inputs",),
            inputs=any_of(array(TEXT_SCHEMA), uniform_object_schema(array(TEXT_SCHEMA))),
            signature_name=_SIGNATURE_NAME,
        ),
    ),
    open_object_schema(
        predictions=array(open_object_schema()), outputs=any_of(array(ANYTHING), uniform_object_schema(array(ANYTHING)))
    ),
    {"instances": ["the film was lovely ."]},
    {"predictions": [RECORD_EXAMPLE]},
)
_STATUS = Route(
    "GET",
    _MODEL,
    _status,
    "State of a model, as TensorFlow Serving's REST API",
    f"Also a model object of OpenAI's API. The version is {VERSION}.",
    response=open_object_schema(
        ("model_version_status", "id"), model_version_status=array(open_object_schema()), id=TEXT_SCHEMA
    ),
    response_example={"model_version_status": [{"version": VERSION, "state": "AVAILABLE"}]},
)
_METADATA = Route(
    "GET",
    f"{_MODEL}/metadata",
    _metadata,
    "Inputs and outputs of a model, as TensorFlow Serving's REST API",
    "The fields of an instance in POST /v1/models/NAME:predict, and the columns that are answered for columns.",
    response=open_object_schema(
        ("model_spec", "metadata"), model_spec=open_object_schema(), metadata=open_object_schema()
    ),
    response_example={"model_spec": {"name": "default", "signature_name": "", "version": VERSION}},
)
PROTOCOL = Protocol(
    "TensorFlow Serving",
    ("/v1/models",),
    (
        _PREDICT,
        dataclasses.replace(_PREDICT, path=f"{_MODEL}/versions/{{version}}:predict"),
        *with_versions(_METADATA, _MODEL),
        *with_versions(_STATUS, _MODEL),
        Route("POST", _MODEL, _refuse_operation),
    ),
    plain_error,
    open_object_schema(("error",), error=TEXT_SCHEMA),
)
