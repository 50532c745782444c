"""Text Embeddings Inference's protocol: vectors, ranks and tokens; and ranks in Jina's form."""

import math
from collections.abc import Sequence

import numpy as np
from starlette.responses import Response

from bert_cli.base.json_files import Json, JsonObject
from bert_cli.serving.http.protocol import Call, Protocol, Route
from bert_cli.serving.http.schemas import INTEGER, NUMBER, SWITCH, TEXT, Schema, array, nullable, one_of, record
from bert_cli.serving.items import Embedding, Item, Token
from bert_cli.serving.requests import (
    check_dimensions,
    check_prompt,
    parse_switch,
    parse_texts,
    refuse_other_members,
)
from bert_cli.serving.responses import RequestError, json_response
from bert_cli.serving.served_model import ServedModel

_QUERY_PROMPT, _DOCUMENT_PROMPTS = "query", ("document", "passage")
_LEAST_PROBABILITY = 1e-7  # about the precision of float32 near 1; its logit is -16


def _error(status: int, message: str, members: JsonObject) -> JsonObject:
    error_type = "Backend" if status >= 500 else "Validation"
    return {"error": message, "error_type": {429: "Overloaded", 503: "Unhealthy"}.get(status, error_type)} | members


def _check_truncation(body: JsonObject, cuts: Sequence[object], model: ServedModel) -> None:
    """Raise RequestError 413 if the request has "truncate": false, and a text was cut.

    Args:
        body: the request.
        cuts: numbers of tokens that were cut, or None, one per text.
        model: the model.
    """
    cut = next((number for number, count in enumerate(cuts) if count), None)
    if cut is not None and not parse_switch(body, "truncate", True):
        message = f"'truncate' is false, and {cuts[cut]} tokens of text {cut} exceed the length of {model.name}"
        raise RequestError(413, message)


def _check_direction(body: JsonObject) -> None:
    if body.get("truncation_direction") not in (None, "Right", "right"):
        raise RequestError(400, "'truncation_direction': texts are cut at their end, so only Right is possible")


async def _embed(call: Call) -> Response:
    body = call.parse()
    model = call.find_model(body.get("model"))
    members = ("inputs", "normalize", "truncate", "truncation_direction", "prompt_name", "dimensions", "model")
    refuse_other_members(body, members)
    items = parse_texts(body.get("inputs"), model, call.service.limits, "inputs")
    prompt_name = check_prompt(body.get("prompt_name"), model)
    should_normalize = parse_switch(body, "normalize", True)
    if not should_normalize and model.vectors.has_unit_length:
        raise RequestError(400, f"'normalize': the vectors of the model {model.name} have length 1 (--normalize)")
    _check_direction(body)
    check_dimensions(body.get("dimensions"), model)
    embeddings = await call.service.embed(model, [item._replace(prompt_name=prompt_name) for item in items])
    _check_truncation(body, [embedding.num_cut for embedding in embeddings], model)
    vectors = np.stack([embedding.vector for embedding in embeddings])
    return json_response((_normalize(vectors) if should_normalize else vectors).tolist())


def _normalize(vectors: np.ndarray) -> np.ndarray:
    """Return vectors of length 1, and zeros for a vector of zeros."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), np.finfo(np.float32).tiny)


async def _rerank(call: Call) -> Response:
    body = call.parse()
    members = ("query", "texts", "raw_scores", "return_text", "truncate", "truncation_direction", "model")
    refuse_other_members(body, members)
    model = call.find_model(body.get("model"))
    texts = body.get("texts")
    shows_text = parse_switch(body, "return_text", False)
    is_raw = parse_switch(body, "raw_scores", False)
    ranked = await _rank(call, model, body, texts, "texts", is_raw)
    return json_response(
        [{"index": number, "score": score} | ({"text": text} if shows_text else {}) for number, score, text in ranked]
    )


async def _rerank_documents(call: Call) -> Response:
    body = call.parse()
    refuse_other_members(body, ("query", "documents", "top_n", "return_documents", "model"))
    model = call.find_model(body.get("model"))
    documents = body.get("documents")
    if isinstance(documents, list):
        documents = [document.get("text") if isinstance(document, dict) else document for document in documents]
    top_n = body.get("top_n")
    if top_n is not None and (type(top_n) is not int or top_n < 1):
        raise RequestError(400, "'top_n': a whole number of 1 or more is needed")
    shows_document = parse_switch(body, "return_documents", False)
    ranked = await _rank(call, model, body, documents, "documents", is_raw=False)
    results = [
        {"index": number, "relevance_score": score} | ({"document": {"text": text}} if shows_document else {})
        for number, score, text in ranked[:top_n]
    ]
    return json_response({"object": "list", "model": model.name, "results": results})


async def _rank(
    call: Call, model: ServedModel, body: JsonObject, texts: Json, name: str, is_raw: bool
) -> list[tuple[int, float, str]]:
    """Return each text's index, score and content, the most relevant text first.

    Args:
        call: the request.
        model: it scores pairs if it is a classifier, and compares vectors if not.
        body: has the query, and perhaps whether texts may be cut.
        texts: the request's texts.
        name: member that has the texts.
        is_raw: whether a classifier's score is its logit, and not a probability.
    """
    limits = call.service.limits
    query = body.get("query")
    if not isinstance(query, str):
        raise RequestError(400, "'query' is not a text")
    (query_item,) = parse_texts(query, model, limits, "query")
    if not isinstance(texts, list):
        raise RequestError(400, f"{name!r} is not a list of texts")
    items = parse_texts(texts, model, limits, name)
    _check_direction(body)
    if model.is_classifier:
        scores = await _classifier_scores(call, model, body, query, items, is_raw)
    else:
        scores = await _vector_scores(call, model, body, query_item, items)
    order = sorted(range(len(items)), key=lambda number: -scores[number])
    return [(number, scores[number], items[number].first) for number in order]


async def _classifier_scores(
    call: Call, model: ServedModel, body: JsonObject, query: str, items: Sequence[Item], is_raw: bool
) -> list[float]:
    if not model.takes_pairs:
        raise RequestError(400, f"the model {model.name} classifies single texts; a classifier of pairs is needed")
    records = await call.service.predict(model, [Item(query, item.first) for item in items])
    _check_truncation(body, [record.get("cut") for record in records], model)
    return [_score(record, model, is_raw) for record in records]


def _score(record: JsonObject, model: ServedModel, is_raw: bool) -> float:
    """Return a pair's relevance: its value, or its probability for the second label."""
    value, probabilities = record.get("value"), record.get("probabilities")
    if isinstance(value, float | int):
        return float(value) if is_raw else 1 / (1 + math.exp(min(-value, 700.0)))
    numbers = list(probabilities.values()) if isinstance(probabilities, dict) else []
    if len(numbers) not in (1, 2):
        message = f"the model {model.name} has {len(numbers)} labels; a model that ranks has one output or two labels"
        raise RequestError(400, message)
    probability = numbers[-1]
    if not is_raw:
        return probability
    probability = min(max(probability, _LEAST_PROBABILITY), 1 - _LEAST_PROBABILITY)
    return math.log(probability / (1 - probability))


async def _vector_scores(
    call: Call, model: ServedModel, body: JsonObject, query: Item, items: Sequence[Item]
) -> list[float]:
    """Return each text's cosine with the query; use the model's prompts if it has them."""
    prompts = model.vectors.prompt_names
    query_prompt = _QUERY_PROMPT if _QUERY_PROMPT in prompts else None
    text_prompt = next((name for name in _DOCUMENT_PROMPTS if name in prompts), None)
    asked = [query._replace(prompt_name=query_prompt), *(item._replace(prompt_name=text_prompt) for item in items)]
    embeddings: list[Embedding] = await call.service.embed(model, asked)
    _check_truncation(body, [embedding.num_cut for embedding in embeddings[1:]], model)
    vectors = _normalize(np.stack([embedding.vector for embedding in embeddings]))
    return [float(score) for score in vectors[1:] @ vectors[0]]


async def _tokenize(call: Call) -> Response:
    body = call.parse()
    refuse_other_members(body, ("inputs", "add_special_tokens", "prompt_name", "model"))
    model = call.find_model(body.get("model"))
    items = parse_texts(body.get("inputs"), model, call.service.limits, "inputs")
    prompt_name = check_prompt(body.get("prompt_name"), model)
    has_special = parse_switch(body, "add_special_tokens", True)
    tokenized = await call.service.tokenize(model, [item._replace(prompt_name=prompt_name) for item in items])
    return json_response([[_token(token) for token in tokens if has_special or token.span] for tokens in tokenized])


def _token(token: Token) -> JsonObject:
    start, stop = token.span or (None, None)
    return {"id": token.token_id, "text": token.text, "special": token.span is None, "start": start, "stop": stop}


_INPUTS = one_of(TEXT, array(TEXT))
_TRUNCATION: dict[str, Schema] = {"truncate": nullable(SWITCH), "truncation_direction": nullable(TEXT)}
_COMMON: dict[str, Schema] = {"prompt_name": nullable(TEXT), "model": nullable(TEXT)}
_RANKS_TEXT = (
    "A classifier of pairs with one output or two labels (a cross-encoder) gives each text the probability that it "
    "answers the query. Other models give the cosine of both vectors; prompts called query, and document or passage, "
    "are used. The most relevant text comes first."
)
PROTOCOL = Protocol(
    "Text Embeddings Inference",
    (),
    (
        Route(
            "POST",
            "/embed",
            _embed,
            "Vectors of texts, as Text Embeddings Inference",
            "One vector per text, of length 1 unless normalize is false. truncate: false refuses texts that are too "
            "long with 413; by default they are cut.",
            record(
                ("inputs",),
                inputs=_INPUTS,
                normalize=nullable(SWITCH),
                dimensions=nullable(INTEGER),
                **_TRUNCATION,
                **_COMMON,
            ),
            array(array(NUMBER)),
            {"inputs": ["a text", "another text"]},
            [[0.6, -0.8], [0.8, 0.6]],
        ),
        Route(
            "POST",
            "/rerank",
            _rerank,
            "Order texts by a query, as Text Embeddings Inference",
            f"{_RANKS_TEXT} raw_scores: a classifier's logits instead of probabilities.",
            record(
                ("query", "texts"),
                query=TEXT,
                texts=array(TEXT),
                raw_scores=nullable(SWITCH),
                return_text=nullable(SWITCH),
                model=nullable(TEXT),
                **_TRUNCATION,
            ),
            array(record(("index", "score"), index=INTEGER, score=NUMBER, text=TEXT)),
            {"query": "what does the dog see ?", "texts": ["it rains", "the dog sees a cat ."]},
            [{"index": 1, "score": 0.9}, {"index": 0, "score": 0.1}],
        ),
        Route(
            "POST",
            "/v1/rerank",
            _rerank_documents,
            "Order documents by a query, as Jina's and Cohere's APIs",
            _RANKS_TEXT,
            record(
                ("query", "documents"),
                query=TEXT,
                documents=array(one_of(TEXT, record(("text",), text=TEXT))),
                top_n=nullable(INTEGER),
                return_documents=nullable(SWITCH),
                model=nullable(TEXT),
            ),
            record(
                ("results",),
                model=TEXT,
                results=array(record(("index", "relevance_score"), index=INTEGER, relevance_score=NUMBER)),
            ),
            {"query": "what does the dog see ?", "documents": ["it rains", "the dog sees a cat ."], "top_n": 1},
            {"object": "list", "model": "default", "results": [{"index": 1, "relevance_score": 0.9}]},
        ),
        Route(
            "POST",
            "/tokenize",
            _tokenize,
            "Tokens of texts, as Text Embeddings Inference",
            "start and stop are places in the text, in characters; a prompt is part of the text.",
            record(("inputs",), inputs=_INPUTS, add_special_tokens=nullable(SWITCH), **_COMMON),
            array(
                array(
                    record(
                        ("id", "text", "special"),
                        id=INTEGER,
                        text=TEXT,
                        special=SWITCH,
                        start=nullable(INTEGER),
                        stop=nullable(INTEGER),
                    )
                )
            ),
            {"inputs": "the dog"},
            [[{"id": 101, "text": "[CLS]", "special": True, "start": None, "stop": None}]],
        ),
    ),
    _error,
    record(("error", "error_type"), error=TEXT, error_type=TEXT),
)
