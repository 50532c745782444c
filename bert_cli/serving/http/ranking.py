"""Ranks of texts for a query: by a classifier of pairs, or by vectors."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bert_cli.base.json_files import Json, JsonObject
from bert_cli.serving.http.protocol import RouteRequest
from bert_cli.serving.items import Embedding, Item
from bert_cli.serving.requests import parse_switch, parse_texts
from bert_cli.serving.responses import RequestError
from bert_cli.serving.served_model import ServedModel

_QUERY_PROMPT, _DOCUMENT_PROMPTS = "query", ("document", "passage")
_LEAST_PROBABILITY = 1e-7  # about the precision of float32 near 1; its logit is -16


def check_cuts(may_cut: bool, cuts: Mapping[str, Json], model: ServedModel) -> None:
    """Raise RequestError 413 if the request has "truncate": false, and a text was cut.

    Args:
        may_cut: the request's "truncate".
        cuts: numbers of tokens that were cut, or None, by the text's name in the message.
    """
    cut = next((name for name, count in cuts.items() if count), None)
    if cut is not None and not may_cut:
        message = f"'truncate' is false, and {cuts[cut]} tokens of {cut} exceed the length of {model.name}"
        raise RequestError(413, message)


def cut_token_counts_by_text(cuts: Sequence[Json]) -> dict[str, Json]:
    """Return the numbers of tokens that were cut, by the texts' names."""
    return {f"text {number}": count for number, count in enumerate(cuts)}


def parse_truncation(body: JsonObject) -> bool:
    """Return whether texts may be cut; raise RequestError 400 for another end than the right one."""
    if body.get("truncation_direction") not in (None, "Right", "right"):
        raise RequestError(400, "'truncation_direction': texts are cut at their end, so only Right is possible")
    return parse_switch(body, "truncate", True)


def normalize_vectors(vectors: np.ndarray) -> np.ndarray:
    """Return vectors of length 1, and zeros for a vector of zeros."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), np.finfo(np.float32).tiny)


async def rank_texts(
    call: RouteRequest, model: ServedModel, body: JsonObject, texts: Json, name: str, is_raw: bool
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
    may_cut = parse_truncation(body)
    if model.is_classifier:
        scores, cuts = await _classifier_scores(call, model, query, items, is_raw)
    else:
        scores, cuts = await _vector_scores(call, model, query_item, items)
    check_cuts(may_cut, cuts, model)
    order = sorted(range(len(items)), key=lambda number: -scores[number])
    return [(number, scores[number], items[number].first) for number in order]


async def _classifier_scores(
    call: RouteRequest, model: ServedModel, query: str, items: Sequence[Item], is_raw: bool
) -> tuple[list[float], dict[str, Json]]:
    """Return scores, and the numbers of tokens that were cut by the texts' names."""
    if not model.takes_pairs:
        raise RequestError(400, f"the model {model.name} classifies single texts; a classifier of pairs is needed")
    records = await call.service.predict(model, [Item(query, item.first, place=item.place) for item in items])
    scores = [_score(record, model, is_raw) for record in records]
    return scores, cut_token_counts_by_text([record.get("cut") for record in records])


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
    call: RouteRequest, model: ServedModel, query: Item, items: Sequence[Item]
) -> tuple[list[float], dict[str, Json]]:
    """Return each text's cosine with the query, and the numbers of cut tokens by the texts' names.

    If the model has prompts for queries and documents, they are used.
    """
    prompts = model.vectors.prompt_names
    query_prompt = _QUERY_PROMPT if _QUERY_PROMPT in prompts else None
    text_prompt = next((name for name in _DOCUMENT_PROMPTS if name in prompts), None)
    prompted = [query._replace(prompt_name=query_prompt), *(item._replace(prompt_name=text_prompt) for item in items)]
    embeddings: list[Embedding] = await call.service.embed(model, prompted)
    vectors = normalize_vectors(np.stack([embedding.vector for embedding in embeddings]))
    cuts = cut_token_counts_by_text([embedding.num_cut for embedding in embeddings[1:]])
    return [float(score) for score in vectors[1:] @ vectors[0]], {"the query": embeddings[0].num_cut} | cuts
