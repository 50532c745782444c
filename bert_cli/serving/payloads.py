"""The JSON of requests and answers. Everything in a request is checked here."""

import base64
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_cli.serving.errors import RequestError
from bert_cli.serving.served_model import Item, ServedModel
from bert_cli.settings.serving import Limits

Json = dict[str, Any]


def parse_object(body: bytes) -> Json:
    """A request's JSON object; RequestError 400 for anything else."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise RequestError(400, f"the body is not JSON: {reason}"[:200]) from None
    if not isinstance(value, dict):
        raise RequestError(400, "the body is not a JSON object")
    return value


def named_model(models: dict[str, ServedModel], name: object) -> ServedModel:
    """The model of a request, without a name the first one; RequestError 404 for an unknown name."""
    if name is None:
        return next(iter(models.values()))
    if not isinstance(name, str) or name not in models:
        raise RequestError(404, f"no model {name!r:.80}; there is {', '.join(models)}")
    return models[name]


def parse_item(value: object, model: ServedModel, limits: Limits, place: str) -> Item:
    """A text, a pair [a, b], or an object of the model's fields."""
    if isinstance(value, str):
        return _checked(Item(value), model, limits, place)
    first, second = model.fields
    if isinstance(value, list):
        if len(value) == 2 and all(isinstance(part, str) for part in value):
            return _checked(Item(*value), model, limits, place)
        raise RequestError(400, f"{place}: a pair of two texts is needed")
    if not isinstance(value, dict):
        raise RequestError(400, f"{place}: a text, a pair of texts or an object with {first!r} is needed")
    given = {name: part for name, part in value.items() if name not in ("model", "id")}
    unknown = next((name for name in given if name not in model.fields), None)
    if unknown is not None:
        raise RequestError(
            400, f"{place}: {unknown!r:.60} is unknown; the model {model.name} takes {first!r} and {second!r}"
        )
    if first not in given:
        raise RequestError(400, f"{place}: {first!r} is missing")
    for name, part in given.items():
        if not isinstance(part, str) and not (name == "text_b" and part is None):
            raise RequestError(400, f"{place}: {name!r} is not a text")
    identifier = value.get("id")
    if identifier is not None and not isinstance(identifier, str | int):
        raise RequestError(400, f"{place}: 'id' is neither a text nor a number")
    known = None if identifier is None else str(identifier)
    return _checked(Item(given[first], given.get(second), known), model, limits, place)


def _checked(item: Item, model: ServedModel, limits: Limits, place: str) -> Item:
    if item.second is not None and "text_b" in model.fields and not model.takes_pairs:
        raise RequestError(400, f"{place}: has a second text, and the model {model.name} takes single texts")
    for text in (item.first, item.second or "", item.id or ""):
        if len(text) > limits.max_text_chars:
            most = limits.max_text_chars
            raise RequestError(413, f"{place}: {len(text):,} characters; {most:,} are allowed (--max_text_chars)")
        if "\x00" in text:
            raise RequestError(400, f"{place}: holds a NUL character")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise RequestError(400, f"{place}: holds half of a surrogate pair, which is not Unicode text") from None
    return item


def parse_items(value: object, model: ServedModel, limits: Limits, name: str) -> list[Item]:
    """The items of a list; RequestError 413 where there are too many."""
    if not isinstance(value, list):
        raise RequestError(400, f"{name!r} is not a list")
    if len(value) > limits.max_texts:
        raise RequestError(413, f"{len(value):,} texts; {limits.max_texts:,} are allowed in a request (--max_texts)")
    return [parse_item(each, model, limits, f"{name}[{number}]") for number, each in enumerate(value)]


def placed(model: ServedModel, items: Sequence[Item], records: Sequence[Json]) -> list[Json]:
    """The answers with their places in the request, see ServedModel.placed."""
    return [model.placed(number, *pair) for number, pair in enumerate(zip(items, records, strict=True))]


def embedding_items(body: Json, model: ServedModel, limits: Limits) -> list[Item]:
    """The `input` of OpenAI's API: a text or a list of texts."""
    given = body.get("input")
    given = [given] if isinstance(given, str) else given
    if not isinstance(given, list) or not given:
        raise RequestError(400, "'input': a text or a list of texts is needed")
    # Clients such as LangChain send numbers of OpenAI's own tokens, unless told not to.
    if not all(isinstance(each, str) for each in given):
        advice = "token ids of another model cannot be read (LangChain: check_embedding_ctx_length=False)"
        raise RequestError(400, f"'input': texts are needed; {advice}")
    if body.get("dimensions") is not None:
        raise RequestError(400, "'dimensions': this model's vectors have one size; leave it out")
    # Some clients send null for a member that is not given.
    if body.get("encoding_format") not in (None, "float", "base64"):
        raise RequestError(400, "'encoding_format': float or base64 is needed")
    return parse_items(given, model, limits, "input")


def embedding_answer(vectors: Sequence[np.ndarray], body: Json, model: ServedModel, tokens: int) -> Json:
    """The answer of OpenAI's API."""
    is_base64 = body.get("encoding_format") == "base64"

    def encoded(vector: np.ndarray) -> Any:
        values = np.asarray(vector, "<f4")
        return base64.b64encode(values.tobytes()).decode("ascii") if is_base64 else values.tolist()

    data = [{"object": "embedding", "index": n, "embedding": encoded(each)} for n, each in enumerate(vectors)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": model.name, "usage": usage}
