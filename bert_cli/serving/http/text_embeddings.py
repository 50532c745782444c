"""Text Embeddings Inference's protocol: vectors, ranks and tokens; and ranks in Jina's form."""

from collections.abc import Iterator

import numpy as np
from starlette.responses import Response

from bert_cli.base.json_files import JsonObject
from bert_cli.serving.http.protocol import Protocol, Route, RouteRequest
from bert_cli.serving.http.ranking import (
    check_cuts,
    cut_token_counts_by_text,
    normalize_vectors,
    parse_truncation,
    rank_texts,
)
from bert_cli.serving.http.schemas import (
    INTEGER,
    NUMBER,
    SWITCH,
    TEXT,
    Schema,
    any_of,
    array,
    closed_object_schema,
    nullable,
    open_object_schema,
)
from bert_cli.serving.items import Token
from bert_cli.serving.requests import (
    check_dimensions,
    check_prompt,
    parse_switch,
    parse_texts,
    refuse_other_members,
)
from bert_cli.serving.responses import RequestError, encode_json, json_response, text_response, write_vector


def _error(status: int, message: str, members: JsonObject) -> JsonObject:
    error_type = "Backend" if status >= 500 else "Validation"
    return {"error": message, "error_type": {429: "Overloaded", 503: "Unhealthy"}.get(status, error_type)} | members


async def _embed(call: RouteRequest) -> Response:
    body = call.parse()
    model = call.find_model(body.get("model"))
    members = ("inputs", "normalize", "truncate", "truncation_direction", "prompt_name", "dimensions", "model")
    refuse_other_members(body, members)
    items = parse_texts(body.get("inputs"), model, call.service.limits, "inputs")
    prompt_name = check_prompt(body.get("prompt_name"), model)
    should_normalize = parse_switch(body, "normalize", True)
    if not should_normalize and model.vectors.has_unit_length:
        raise RequestError(400, f"'normalize': the vectors of the model {model.name} have length 1 (--normalize)")
    may_cut = parse_truncation(body)
    check_dimensions(body.get("dimensions"), model)
    embeddings = await call.service.embed(model, [item._replace(prompt_name=prompt_name) for item in items])
    check_cuts(may_cut, cut_token_counts_by_text([embedding.num_cut for embedding in embeddings]), model)
    vectors = np.stack([embedding.vector for embedding in embeddings])
    vectors = normalize_vectors(vectors) if should_normalize else vectors
    return text_response(f"[{', '.join(map(write_vector, vectors))}]")


async def _rerank(call: RouteRequest) -> Response:
    body = call.parse()
    members = ("query", "texts", "raw_scores", "return_text", "truncate", "truncation_direction", "model")
    refuse_other_members(body, members)
    model = call.find_model(body.get("model"))
    texts = body.get("texts")
    shows_text = parse_switch(body, "return_text", False)
    is_raw = parse_switch(body, "raw_scores", False)
    ranked = await rank_texts(call, model, body, texts, "texts", is_raw)
    return json_response(
        [{"index": number, "score": score} | ({"text": text} if shows_text else {}) for number, score, text in ranked]
    )


async def _rerank_documents(call: RouteRequest) -> Response:
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
    ranked = await rank_texts(call, model, body, documents, "documents", is_raw=False)
    results = [
        {"index": number, "relevance_score": score} | ({"document": {"text": text}} if shows_document else {})
        for number, score, text in ranked[:top_n]
    ]
    return json_response({"object": "list", "model": model.name, "results": results})


async def _tokenize(call: RouteRequest) -> Response:
    body = call.parse()
    refuse_other_members(body, ("inputs", "add_special_tokens", "prompt_name", "model"))
    model = call.find_model(body.get("model"))
    items = parse_texts(body.get("inputs"), model, call.service.limits, "inputs")
    prompt_name = check_prompt(body.get("prompt_name"), model)
    has_special = parse_switch(body, "add_special_tokens", True)

    def write(texts: Iterator[list[Token]]) -> str:
        # Write text by text: other threads wait for each, and the objects need much memory.
        rows = ([_token(token) for token in tokens if has_special or token.span] for tokens in texts)
        return f"[{', '.join(encode_json(row) for row in rows)}]"

    return text_response(
        await call.service.tokenize(model, [item._replace(prompt_name=prompt_name) for item in items], write)
    )


def _token(token: Token) -> JsonObject:
    start, stop = token.span or (None, None)
    return {"id": token.token_id, "text": token.text, "special": token.span is None, "start": start, "stop": stop}


_INPUTS = any_of(TEXT, array(TEXT, least=1))
_TRUNCATION: dict[str, Schema] = {
    "truncate": nullable(SWITCH),
    "truncation_direction": {"enum": ("Right", "right", None)},
}
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
            closed_object_schema(
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
            closed_object_schema(
                ("query", "texts"),
                query=TEXT,
                texts=array(TEXT, least=1),
                raw_scores=nullable(SWITCH),
                return_text=nullable(SWITCH),
                model=nullable(TEXT),
                **_TRUNCATION,
            ),
            array(open_object_schema(("index", "score"), index=INTEGER, score=NUMBER, text=TEXT)),
            {"query": "what does the dog see ?", "texts": ["it rains", "the dog sees a cat ."]},
            [{"index": 1, "score": 0.9}, {"index": 0, "score": 0.1}],
        ),
        Route(
            "POST",
            "/v1/rerank",
            _rerank_documents,
            "Order documents by a query, as Jina's and Cohere's APIs",
            _RANKS_TEXT,
            closed_object_schema(
                ("query", "documents"),
                query=TEXT,
                documents=array(any_of(TEXT, open_object_schema(("text",), text=TEXT)), least=1),
                top_n=nullable(INTEGER | {"minimum": 1}),
                return_documents=nullable(SWITCH),
                model=nullable(TEXT),
            ),
            open_object_schema(
                ("results",),
                model=TEXT,
                results=array(open_object_schema(("index", "relevance_score"), index=INTEGER, relevance_score=NUMBER)),
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
            closed_object_schema(("inputs",), inputs=_INPUTS, add_special_tokens=nullable(SWITCH), **_COMMON),
            array(
                array(
                    open_object_schema(
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
    open_object_schema(("error", "error_type"), error=TEXT, error_type=TEXT),
)
