"""The service that the HTTP routes call: models by name, a request queue, and answers."""

import asyncio
import time
from typing import Any

from bert_cli.base.json_files import JsonObject
from bert_cli.serving import requests
from bert_cli.serving.batching import Batcher
from bert_cli.serving.metrics import Metrics
from bert_cli.serving.request_log import note_texts
from bert_cli.serving.responses import RequestError
from bert_cli.serving.served_model import Item, ServedModel
from bert_cli.settings.serving import Limits

# Every model has this version in TensorFlow Serving's API, even after --watch replaces the model.
_VERSION = "1"
# Operations of a batch.
PREDICT, EXPLAIN, EMBED = "predict", "explain", "embed"


class Service:
    """Service that answers requests with one or more models.

    Attributes:
        models: models by name; the first is the default. An entry may be replaced at any time,
            since a batch looks up its model once.
        limits: limits for requests.
        batcher: the queue of requests.
        metrics: counts and times for GET /metrics.
    """

    def __init__(self, models: dict[str, ServedModel], limits: Limits):
        self.models = models
        self.limits = limits
        self.metrics = Metrics(lambda: self.batcher.waiting)
        for name, model in models.items():
            self.metrics.set_model(name, model.step)
        self.batcher = Batcher(self._compute, limits.max_queue)

    def replace_model(self, name: str, model: ServedModel) -> None:
        """Answer later batches with another model."""
        # Replace the entry in one assignment, so that a batch uses either the old or the new model.
        self.models[name] = model
        self.metrics.set_model(name, model.step)

    def _compute(self, key: tuple[str, str], items: list[Item]) -> list[Any]:
        operation, name = key
        model = self.models[name]
        num_cut_texts = model.num_cut_texts
        start_time = time.monotonic()
        if operation == PREDICT:
            results: list[Any] = model.answer(items)
        else:
            results = model.embed(items) if operation == EMBED else [model.explain(item) for item in items]
        seconds = time.monotonic() - start_time
        self.metrics.count_batch(name, len(items), model.num_cut_texts - num_cut_texts, seconds)
        return results

    async def _submit(self, operation: str, model: ServedModel, items: list[Item]) -> list[Any]:
        note_texts(model.name, len(items))
        try:
            async with asyncio.timeout(self.limits.request_timeout):
                return await self.batcher.submit((operation, model.name), items)
        except TimeoutError:
            seconds = self.limits.request_timeout
            raise RequestError(504, f"no answer within {seconds} s (--request_timeout)") from None

    async def predict(self, body: JsonObject) -> JsonObject:
        """Answer POST /predict: return one prediction, or a list if the request has `texts`."""
        model = requests.find_model(self.models, body.get("model"))
        if "texts" not in body:
            item = requests.parse_item(body, model, self.limits, "the body")
            return requests.with_indices(model, [item], await self._submit(PREDICT, model, [item]))[0]
        items = requests.parse_items(body["texts"], model, self.limits, "texts")
        return {"predictions": requests.with_indices(model, items, await self._submit(PREDICT, model, items))}

    async def predict_instances(self, name: str, body: JsonObject) -> JsonObject:
        """Answer POST /v1/models/NAME:predict, like TensorFlow Serving's REST API."""
        model = requests.find_model(self.models, name)
        if "instances" not in body:
            raise RequestError(400, "'instances' is missing")
        items = requests.parse_items(body["instances"], model, self.limits, "instances")
        return {"predictions": requests.with_indices(model, items, await self._submit(PREDICT, model, items))}

    async def explain(self, body: JsonObject) -> JsonObject:
        """Answer POST /explain: return each word's contribution to a classifier's prediction."""
        model = requests.find_model(self.models, body.get("model"))
        item = requests.parse_item(body, model, self.limits, "the body")
        return (await self._submit(EXPLAIN, model, [item]))[0]

    async def embeddings(self, body: JsonObject) -> JsonObject:
        """Answer POST /v1/embeddings, like OpenAI's API."""
        model = requests.find_model(self.models, body.get("model"))
        items = requests.embedding_items(body, model, self.limits)
        results = await self._submit(EMBED, model, items)
        return requests.embedding_answer(
            [vector for vector, _ in results], body, model, sum(count for _, count in results)
        )

    def list_models(self) -> JsonObject:
        """Answer GET /v1/models."""
        return {"object": "list", "data": [_model_object(model) for model in self.models.values()]}

    def check_version(self, name: str, version: str) -> None:
        """Raise RequestError 404 if there is no model `name`, or no such version of it."""
        requests.find_model(self.models, name)
        if version != _VERSION:
            raise RequestError(404, f"no version {version!r:.40} of the model {name}; there is {_VERSION}")

    def get_model_status(self, name: str) -> JsonObject:
        """Answer GET /v1/models/NAME, like TensorFlow Serving's and OpenAI's APIs."""
        state: JsonObject = {
            "version": _VERSION,
            "state": "AVAILABLE",
            "status": {"error_code": "OK", "error_message": ""},
        }
        return {"model_version_status": [state], **_model_object(requests.find_model(self.models, name))}

    def get_model_metadata(self, name: str) -> JsonObject:
        """Answer GET /v1/models/NAME/metadata, like TensorFlow Serving's API."""
        model = requests.find_model(self.models, name)
        shape: JsonObject = {"dim": [{"size": "-1", "name": ""}], "unknown_rank": False}
        inputs: JsonObject = {
            field: {"dtype": "DT_STRING", "tensor_shape": shape, "name": field} for field in model.fields
        }
        signature: JsonObject = {"inputs": inputs, "outputs": {}, "method_name": "tensorflow/serving/predict"}
        return {
            "model_spec": {"name": model.name, "signature_name": "", "version": _VERSION},
            "metadata": {"signature_def": {"signature_def": {"serving_default": signature}}},
        }


def _model_object(model: ServedModel) -> JsonObject:
    return {"id": model.name, "object": "model", "created": 0, "owned_by": "bert_cli", **model.describe()}
