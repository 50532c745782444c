"""OpenAI's protocol: vectors of texts, and the list of models."""

import base64
from collections.abc import Sequence

import numpy as np
from starlette.responses import Response

from bert_cli.base.json_files import Json, JsonObject
from bert_cli.features.packing import cut_entry
from bert_cli.serving.http.native import OPENAI_ERROR
from bert_cli.serving.http.protocol import Protocol, Route, RouteRequest
from bert_cli.serving.http.schemas import (
    ANYTHING,
    INTEGER,
    NUMBER,
    TEXT,
    any_of,
    array,
    closed_object_schema,
    nullable,
    open_object_schema,
)
from bert_cli.serving.items import Embedding, Item
from bert_cli.serving.requests import check_dimensions, check_prompt, parse_texts, refuse_other_members
from bert_cli.serving.responses import (
    RequestError,
    encode_json,
    json_response,
    openai_error,
    text_response,
    write_vector,
)
from bert_cli.serving.served_model import ServedModel
from bert_cli.serving.service import Service
from bert_cli.settings.serving import Limits

# Members that a request may have; user is OpenAI's, and has no effect.
_MEMBERS = ("model", "input", "encoding_format", "dimensions", "user", "prompt_name")


def embedding_items(body: JsonObject, model: ServedModel, limits: Limits) -> list[Item]:
    """Return the items in a request for vectors.

    Args:
        body: has a text or a list with texts as `input`. It may have a `prompt_name`.
        model: see `requests.parse_item`.
        limits: limits for the list and its texts.

    Raises:
        RequestError: 400 if `body` has a wrong form, 413 if the list or a text is too long.
    """
    refuse_other_members(body, _MEMBERS)
    prompt_name = check_prompt(body.get("prompt_name"), model)
    items = parse_texts(body.get("input"), model, limits, "input")
    # Some clients send null instead of leaving a member out.
    if body.get("encoding_format") not in (None, "float", "base64"):
        raise RequestError(400, "'encoding_format': float or base64 is needed")
    return [item._replace(prompt_name=prompt_name) for item in items]


def embedding_answer(embeddings: Sequence[Embedding], body: JsonObject, model: ServedModel) -> str:
    """Return a response body with vectors, which is JSON.

    A text that was cut has the member `cut`, the number of tokens that were left out.

    Args:
        embeddings: one per text.
        body: the request; its `encoding_format` is float (default) or base64.
        model: the model that computed the vectors.
    """
    is_base64 = body.get("encoding_format") == "base64"

    def encode(vector: np.ndarray) -> str:
        if is_base64:
            return encode_json(base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode("ascii"))
        return write_vector(vector)

    data = []
    for number, embedding in enumerate(embeddings):
        cut = "".join(f', "{name}": {count}' for name, count in cut_entry(embedding.num_cut).items())
        vector = encode(embedding.vector)
        data.append(f'{{"object": "embedding", "index": {number}, "embedding": {vector}{cut}}}')
    tokens = sum(embedding.num_tokens for embedding in embeddings)
    rest = encode_json({"model": model.name, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}})
    return f'{{"object": "list", "data": [{", ".join(data)}], {rest[1:]}'


async def _embeddings(call: RouteRequest) -> Response:
    body = call.parse()
    model = call.find_model(body.get("model"))
    items = embedding_items(body, model, call.service.limits)
    check_dimensions(body.get("dimensions"), model)
    return text_response(embedding_answer(await call.service.embed(model, items), body, model))


def model_object(service: Service, model: ServedModel) -> JsonObject:
    """Return OpenAI's model object, with the model's kind and abilities."""
    return {"id": model.name, "object": "model", "created": 0, "owned_by": "bert_cli", **service.describe(model)}


async def _models(call: RouteRequest) -> Response:
    data: list[Json] = [model_object(call.service, model) for model in call.service.usable_models().values()]
    return json_response({"object": "list", "data": data})


_VECTOR = any_of(array(NUMBER), TEXT)
PROTOCOL = Protocol(
    "OpenAI",
    (),
    (
        Route(
            "POST",
            "/v1/embeddings",
            _embeddings,
            "Vectors of texts, as OpenAI's API",
            "By default the mean of the encoder's last layer, of length 1. encoding_format: float or base64. A text "
            'that was cut has "cut", the number of tokens that were left out.',
            closed_object_schema(
                ("input",),
                input=any_of(TEXT, array(TEXT, least=1)),
                model=nullable(TEXT),
                encoding_format=nullable({"type": "string", "enum": ("float", "base64")}),
                dimensions=nullable(INTEGER),
                prompt_name=nullable(TEXT),
                user=ANYTHING,
            ),
            open_object_schema(
                ("object", "data", "model", "usage"),
                object=TEXT,
                data=array(
                    open_object_schema(("object", "index", "embedding"), object=TEXT, index=INTEGER, embedding=_VECTOR)
                ),
                model=TEXT,
                usage=open_object_schema(
                    ("prompt_tokens", "total_tokens"), prompt_tokens=INTEGER, total_tokens=INTEGER
                ),
            ),
            {"input": ["a text", "another text"], "encoding_format": "float"},
            {
                "object": "list",
                "data": [{"object": "embedding", "index": 0, "embedding": [0.1, -0.2]}],
                "model": "default",
                "usage": {"prompt_tokens": 4, "total_tokens": 4},
            },
        ),
        Route(
            "GET",
            "/v1/models",
            _models,
            "The models",
            "Their names, kinds and labels.",
            response=open_object_schema(
                ("data",), data=array(open_object_schema(("id",), id=TEXT, kind=TEXT, labels=array(TEXT)))
            ),
            response_example={"object": "list", "data": [{"id": "default"}]},
        ),
    ),
    openai_error,
    OPENAI_ERROR,
)
