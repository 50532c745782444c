"""Bodies of requests, including all checks."""

import asyncio
import json
import zlib
from collections.abc import Mapping, Sequence

from starlette.requests import ClientDisconnect, Request

from bert_cli.base.json_files import JsonObject
from bert_cli.serving.items import Item
from bert_cli.serving.responses import CLIENT_LEFT, RequestError
from bert_cli.serving.served_model import ServedModel
from bert_cli.settings.serving import Limits

# A body of up to this many times --max_body_bytes is read and discarded.
_DISCARD_FACTOR = 8


async def read_body(request: Request, max_bytes: int, seconds: float) -> bytes:
    """Return a request's body.

    Args:
        max_bytes: largest accepted size.
        seconds: time limit for receiving the body.

    Raises:
        RequestError: 413 if the body is too large, 408 if it is not complete in time, 499 if the
            client closes the connection.
    """
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > max_bytes:
        message = f"the body has {int(length):,} bytes; {max_bytes:,} are allowed (--max_body_bytes)"
        raise RequestError(413, message, has_unread_body=int(length) <= _DISCARD_FACTOR * max_bytes)
    chunks = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                size += len(chunk)
                # Read an oversized body to its end, but discard it: many clients send everything
                # before they read, and would see a connection reset instead of the error.
                if size <= max_bytes:
                    chunks.append(chunk)
                elif size > _DISCARD_FACTOR * max_bytes:
                    break
    except ClientDisconnect:
        raise RequestError(CLIENT_LEFT, "the connection was closed within the request") from None
    except TimeoutError:
        raise RequestError(408, f"the request did not end within {seconds} s") from None
    if size > max_bytes:
        raise RequestError(413, f"the body is too large; {max_bytes:,} bytes are allowed (--max_body_bytes)")
    encoding = request.headers.get("content-encoding", "").strip().lower()
    return decode_body(b"".join(chunks), encoding, max_bytes) if encoding else b"".join(chunks)


def decode_body(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """Return a body without its Content-Encoding.

    Args:
        body: the received bytes.
        encoding: the header's value in lower case.
        max_bytes: largest accepted size after unpacking.

    Raises:
        RequestError: 415 for another encoding than gzip, 400 for damaged bytes, 413 if the body is
            too large.
    """
    if encoding == "identity":
        return body
    if encoding not in ("gzip", "x-gzip"):
        raise RequestError(415, f"Content-Encoding: {encoding!r:.60} is unknown; send gzip, or no encoding")
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        # Stop at the limit: a small body may unpack to gigabytes.
        data = decoder.decompress(body, max_bytes + 1)
    except zlib.error:
        raise RequestError(400, "Content-Encoding: the body is not gzip, or damaged") from None
    if len(data) > max_bytes:
        message = f"the unpacked body is too large; {max_bytes:,} bytes are allowed (--max_body_bytes)"
        raise RequestError(413, message)
    if not decoder.eof or decoder.unused_data:
        raise RequestError(400, "Content-Encoding: the gzip body is cut short, or has bytes after its end")
    return data


def parse_object(body: bytes) -> JsonObject:
    """Return the JSON object in a request's body; raise RequestError 400 for anything else."""
    try:
        value = json.loads(body)
    except RecursionError:
        raise RequestError(400, "the body is not JSON: nested too deeply") from None
    except json.JSONDecodeError as error:
        raise RequestError(400, f"the body is not JSON: {error}"[:200]) from None
    except UnicodeDecodeError as error:
        raise RequestError(400, f"the body is not UTF-8: byte {error.start + 1} is wrong") from None
    except ValueError:
        # Python refuses to convert such a number, and its message advises a change of its limit.
        raise RequestError(400, "the body has a whole number with too many digits") from None
    if not isinstance(value, dict):
        raise RequestError(400, "the body is not a JSON object")
    return value


def find_served_model(models: dict[str, ServedModel], name: object) -> ServedModel:
    """Return the model that a request names, or the first model if the request names no model.

    Raises:
        RequestError: 404 for an unknown name.
    """
    if name is None:
        return next(iter(models.values()))
    if not isinstance(name, str) or name not in models:
        raise RequestError(404, f"no model {name!r:.80}; there is {', '.join(models)}")
    return models[name]


def parse_item(value: object, model: ServedModel, limits: Limits, place: str) -> Item:
    """Return the item in a JSON value: a text, a pair [a, b] or an object.

    Args:
        value: decoded JSON.
        model: defines the fields of an object, and whether it takes pairs.
        limits: limits for the texts.
        place: position in the request, for error messages.

    Raises:
        RequestError: 400 for a wrong form, 413 for a text that is too long.
    """
    if isinstance(value, str):
        return _check_item(Item(value, place=place), model, limits)
    first, second = model.fields
    if isinstance(value, list):
        if len(value) == 2 and all(isinstance(field, str) for field in value):
            return _check_item(Item(value[0], value[1], place=place), model, limits)
        raise RequestError(400, f"{place}: a pair of two texts is needed")
    if not isinstance(value, dict):
        raise RequestError(400, f"{place}: a text, a pair of texts or an object with {first!r} is needed")
    fields = {name: field for name, field in value.items() if name != "id"}
    unknown = next((name for name in fields if name not in model.fields), None)
    if unknown is not None:
        raise RequestError(
            400, f"{place}: {unknown!r:.60} is unknown; the model {model.name} takes {first!r} and {second!r}"
        )
    if first not in fields:
        raise RequestError(400, f"{place}: {first!r} is missing")
    for name, field in fields.items():
        if not isinstance(field, str) and not (name == "text_b" and field is None):
            raise RequestError(400, f"{place}: {name!r} is not a text")
    identifier = value.get("id")
    if identifier is not None and (not isinstance(identifier, str | int) or isinstance(identifier, bool)):
        raise RequestError(400, f"{place}: 'id' is neither a text nor a number")
    item_id = None if identifier is None else str(identifier)
    return _check_item(Item(fields[first], fields.get(second), item_id, place=place), model, limits)


def _check_item(item: Item, model: ServedModel, limits: Limits) -> Item:
    place = item.place
    if item.second is not None and "text_b" in model.fields and not model.takes_pairs:
        raise RequestError(400, f"{place}: has a second text, and the model {model.name} takes single texts")
    for text in (item.first, item.second or "", item.id or ""):
        if len(text) > limits.max_text_chars:
            max_chars = limits.max_text_chars
            raise RequestError(413, f"{place}: {len(text):,} characters; {max_chars:,} are allowed (--max_text_chars)")
        if "\x00" in text:
            raise RequestError(400, f"{place}: holds a NUL character")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise RequestError(400, f"{place}: holds half of a surrogate pair, which is not Unicode text") from None
    return item


def parse_items(values: object, model: ServedModel, limits: Limits, name: str) -> list[Item]:
    """Return the items in a JSON list.

    Args:
        values: decoded JSON.
        model: see `parse_item`.
        limits: limits for the list and its texts.
        name: the list's name in the request, for error messages.

    Raises:
        RequestError: 400 if a value has a wrong form, 413 if the list or a text is too long.
    """
    if not isinstance(values, list):
        raise RequestError(400, f"{name!r} is not a list")
    if len(values) > limits.max_texts:
        raise RequestError(413, f"{len(values):,} texts; {limits.max_texts:,} are allowed in a request (--max_texts)")
    return [parse_item(value, model, limits, f"{name}[{number}]") for number, value in enumerate(values)]


def refuse_other_members(body: JsonObject, names: Sequence[str]) -> None:
    """Raise RequestError 400 if a request has a member with another name than these."""
    unknown = next((name for name in body if name not in names), None)
    if unknown is not None:
        known_names = ", ".join(map(repr, names))
        raise RequestError(400, f"the body: {unknown!r:.60} is unknown; this request takes {known_names}")


def with_indices(model: ServedModel, items: Sequence[Item], records: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the answers, each with its index or id (see ServedModel.with_index)."""
    return [model.with_index(number, *pair) for number, pair in enumerate(zip(items, records, strict=True))]


def parse_texts(value: object, model: ServedModel, limits: Limits, name: str) -> list[Item]:
    """Return the items in a JSON value that is a text or a list of texts.

    Args:
        value: decoded JSON.
        model: see `parse_item`.
        limits: limits for the list and its texts.
        name: the value's name in the request, for error messages.

    Raises:
        RequestError: 400 if the value has a wrong form, 413 if the list or a text is too long.
    """
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts:
        raise RequestError(400, f"{name!r}: a text or a list of texts is needed")
    # Clients such as LangChain send OpenAI's token ids by default.
    if not all(isinstance(text, str) for text in texts):
        advice = "token ids of another model cannot be read (LangChain: check_embedding_ctx_length=False)"
        raise RequestError(400, f"{name!r}: texts are needed; {advice}")
    return parse_items(texts, model, limits, name)


def parse_columns(columns: Mapping[str, object], model: ServedModel, limits: Limits, name: str) -> list[Item]:
    """Return the items in columns, which have one text per item.

    Args:
        columns: the columns by name. `parse_item` has the same names.
        model: see `parse_item`.
        limits: limits for the columns and their texts.
        name: name for error messages.

    Raises:
        RequestError: 400 if a column has a wrong form, 413 if a column or a text is too long.
    """
    lists: dict[str, list[object]] = {}
    for field, values in columns.items():
        if not isinstance(values, list):
            raise RequestError(400, f"{name}: {field!r:.60} is not a list")
        lists[field] = values
    if len({len(values) for values in lists.values()}) > 1:
        sizes = ", ".join(f"{field!r:.60} has {len(values)}" for field, values in lists.items())
        raise RequestError(400, f"{name}: all columns need the same number of texts; {sizes}")
    if not lists:
        raise RequestError(400, f"{name}: {model.fields[0]!r} is missing")
    rows = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    return parse_items(rows, model, limits, name)


def check_prompt(prompt_name: object, model: ServedModel) -> str | None:
    """Return a prompt's name, or None; raise RequestError 400 if the model has no such prompt."""
    if prompt_name is None:
        return None
    prompt_names = model.vectors.prompt_names
    if isinstance(prompt_name, str) and prompt_name in prompt_names:
        return prompt_name
    names = ", ".join(prompt_names) or "none"
    raise RequestError(400, f"'prompt_name': the model {model.name} has no prompt {prompt_name!r:.60}; it has {names}")


def check_dimensions(dimensions: object, model: ServedModel) -> None:
    """Raise RequestError 400 if the model's vectors have another width."""
    if dimensions is None:
        return
    if not isinstance(dimensions, int) or isinstance(dimensions, bool):
        raise RequestError(400, "'dimensions' is not a whole number")
    width = model.vectors.width
    if dimensions != width:
        raise RequestError(400, f"'dimensions': the vectors of the model {model.name} have {width}; leave it out")


def parse_switch(body: JsonObject, name: str, default: bool) -> bool:
    """Return a member that is true or false.

    Args:
        body: the request.
        name: the member's name.
        default: result if the member is null or missing.
    """
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise RequestError(400, f"{name!r} is neither true nor false")
    return default if value is None else value
