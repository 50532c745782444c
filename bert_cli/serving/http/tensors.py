"""Tensors in requests and responses of KServe's protocol, as JSON and as binary data.

Texts are BYTES tensors. Triton's client uses the extension for binary data by default, which puts
tensor data after the JSON object.
"""

import json
import struct
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from starlette.responses import Response

from bert_cli.base.json_files import Json, JsonObject
from bert_cli.serving.http.protocol import RouteRequest
from bert_cli.serving.items import BOOL, FP32, INT64, TEXT, AnswerField
from bert_cli.serving.requests import parse_object, refuse_other_members
from bert_cli.serving.responses import RequestError, json_response

_DTYPES = {FP32: "<f4", INT64: "<i8", BOOL: "?"}
# Header with the length in bytes of the JSON object, if binary data follows it.
_LENGTH_HEADER = "inference-header-content-length"
_BINARY_MEDIA_TYPE = "application/octet-stream"
_BINARY_OUTPUT = "binary_data_output"
_BINARY = "binary_data"
_SIZE = "binary_data_size"


class TensorRequest:
    """An inference request: its JSON object and its binary data.

    Attributes:
        values: the JSON object.
    """

    def __init__(self, call: RouteRequest):
        """Read a request; raise RequestError 400 for a wrong form."""
        length = call.headers.get(_LENGTH_HEADER, str(len(call.body)))
        if not (length.isascii() and length.isdigit() and len(length) < 20 and int(length) <= len(call.body)):
            raise RequestError(400, f"Inference-Header-Content-Length: {length!r:.40} is no length within the body")
        self.values = parse_object(call.body[: int(length)])
        self._data = call.body[int(length) :]

    def columns(self) -> dict[str, list[Json]]:
        """Return each input tensor's texts; raise RequestError 400 if a tensor has a wrong form."""
        inputs = self.values.get("inputs")
        if not isinstance(inputs, list) or not inputs:
            raise RequestError(400, "'inputs': a list of tensors is needed")
        columns: dict[str, list[Json]] = {}
        for number, tensor in enumerate(inputs):
            name = tensor.get("name") if isinstance(tensor, dict) else None
            if not isinstance(name, str):
                raise RequestError(400, f"inputs[{number}]: an object with 'name', 'datatype' and 'shape' is needed")
            if name in columns:
                raise RequestError(400, f"inputs[{number}]: the name {name!r:.60} is there twice")
            columns[name] = self._texts(tensor, f"inputs[{number}]")
        if self._data:
            raise RequestError(400, f"{len(self._data)} bytes follow the data of the last tensor")
        return columns

    def _texts(self, tensor: dict[str, Json], place: str) -> list[Json]:
        refuse_other_members(tensor, ("name", "shape", "datatype", "parameters", "data"))
        if tensor.get("datatype") != TEXT:
            raise RequestError(400, f"{place}: the datatype {tensor.get('datatype')!r:.40} is not {TEXT}")
        shape = tensor.get("shape")
        sizes = shape if isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape) else None
        if sizes is None or not (len(sizes) == 1 or (len(sizes) == 2 and sizes[1] == 1)):
            raise RequestError(400, f"{place}: the shape {shape!r:.40} is neither [n] nor [n, 1]")
        size = _member(tensor, "parameters", place).get(_SIZE)
        if size is None:
            values = list(_flatten(tensor.get("data"), place))
        else:
            if "data" in tensor:
                raise RequestError(400, f"{place}: has both 'data' and {_SIZE}; leave one of them out")
            if type(size) is not int or not 0 <= size <= len(self._data):
                raise RequestError(400, f"{place}: {_SIZE} {size!r:.40} is no length within the body")
            values = list(_decode_texts(self._data[:size], place))
            self._data = self._data[size:]
        if len(values) != sizes[0]:
            raise RequestError(400, f"{place}: the shape has {sizes[0]} texts, and the data has {len(values)}")
        return values


def _member(values: dict[str, Json], name: str, place: str) -> dict[str, Json]:
    """Return a member that is an object, {} without it."""
    value = values.get(name)
    if value is not None and not isinstance(value, dict):
        raise RequestError(400, f"{place}: {name!r} is not an object")
    return value or {}


def _flatten(data: Json, place: str) -> Iterator[Json]:
    """Yield the values in a list; a value may be a list with one text."""
    if not isinstance(data, list):
        raise RequestError(400, f"{place}: 'data' is not a list")
    for value in data:
        yield value[0] if isinstance(value, list) and len(value) == 1 else value


def _decode_texts(data: bytes, place: str) -> Iterator[Json]:
    """Yield the texts in binary data, each after its length in four bytes."""
    position = 0
    while position < len(data):
        start = position + 4
        position = start + int.from_bytes(data[position:start], "little")
        if max(start, position) > len(data):
            raise RequestError(400, f"{place}: the binary data ends within a text")
        try:
            yield data[start:position].decode()
        except UnicodeDecodeError:
            raise RequestError(400, f"{place}: the binary data has a text that is not UTF-8") from None


def _encode(column: AnswerField, values: Sequence[Json]) -> bytes:
    """Return a tensor's values as binary data."""
    if column.datatype == TEXT:
        texts = [str(value).encode() for value in values]
        return b"".join(struct.pack("<I", len(text)) + text for text in texts)
    return np.asarray(values, _DTYPES[column.datatype]).tobytes()


def choose_outputs(values: JsonObject, columns: Sequence[AnswerField]) -> dict[AnswerField, bool]:
    """Return the requested columns, and whether each is answered as binary data."""
    is_binary = _member(values, "parameters", "the body").get(_BINARY_OUTPUT) is True
    outputs = values.get("outputs")
    if outputs is None:
        return dict.fromkeys(columns, is_binary)
    by_name = {column.name: column for column in columns}
    chosen: dict[AnswerField, bool] = {}
    for number, output in enumerate(outputs if isinstance(outputs, list) else [None]):
        name = output.get("name") if isinstance(output, dict) else None
        if not isinstance(output, dict) or not isinstance(name, str) or name not in by_name:
            names = ", ".join(by_name)
            raise RequestError(400, f"outputs[{number}]: an object with the name of an output is needed: {names}")
        chosen[by_name[name]] = _member(output, "parameters", f"outputs[{number}]").get(_BINARY, is_binary) is True
    return chosen


def _flat(values: Sequence[Json]) -> list[Json]:
    """Return the values from all rows in one list."""
    return [value for row in values for value in (row if isinstance(row, list) else [row])]


def describe_tensor(name: str, datatype: str, num_texts: int = -1, width: int | None = None) -> JsonObject:
    """Return a tensor's name, datatype and shape.

    Args:
        datatype: the data type.
        num_texts: number of texts; use -1 if it may be any number.
        width: numbers per text, or None for a single value.
    """
    return {"name": name, "datatype": datatype, "shape": [num_texts] if width is None else [num_texts, width]}


def tensor_response(answer: JsonObject, columns: Mapping[AnswerField, bool], records: Sequence[JsonObject]) -> Response:
    """Return the response with a tensor per column.

    Args:
        answer: other members for the response.
        columns: columns, and whether each is binary data.
        records: one answer per text.
    """
    outputs: list[Json] = []
    chunks: list[bytes] = []
    for column, is_binary in columns.items():
        values = column.values(records)
        tensor = describe_tensor(column.name, column.datatype, len(records), column.width)
        if is_binary:
            chunks.append(_encode(column, values))
            outputs.append(tensor | {"parameters": {_SIZE: len(chunks[-1])}})
        else:
            outputs.append(tensor | {"data": _flat(values)})
    answer = answer | {"outputs": outputs}
    if not chunks:
        return json_response(answer)
    head = json.dumps(answer, ensure_ascii=False).encode()
    headers = {_LENGTH_HEADER: str(len(head))}
    return Response(b"".join([head, *chunks]), headers=headers, media_type=_BINARY_MEDIA_TYPE)
