"""The service that the HTTP routes call: models by name, a request queue and answers."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import JsonObject
from bert_cli.serving import requests
from bert_cli.serving.access import note_texts
from bert_cli.serving.batching import Batcher
from bert_cli.serving.jobs import Key
from bert_cli.serving.metrics import Metrics
from bert_cli.serving.processes import this_process
from bert_cli.serving.responses import CLIENT_LEFT, RequestError
from bert_cli.serving.served_model import Item, ServedModel
from bert_cli.settings.serving import Limits

# Every model has this version in TensorFlow Serving's API, even after --watch replaces the model.
_VERSION = "1"
# Name of the only signature in that API.
SIGNATURE = "serving_default"
# Operations of a batch.
PREDICT, EXPLAIN, EMBED = "predict", "explain", "embed"
_Answer = TypeVar("_Answer")


class Service:
    """Service that answers requests with one or more models.

    Attributes:
        models: models by name; the first is the default. An entry may be replaced at any time,
            since a batch looks up its model once.
        limits: limits for requests.
        batcher: the queue of requests.
        metrics: counts and times for GET /metrics.
    """

    def __init__(
        self, models: dict[str, ServedModel], limits: Limits, list_processes: Callable[[], list[int]] = this_process
    ):
        self.models = models
        self.limits = limits
        self.metrics = Metrics(lambda: self.batcher.waiting, list_processes)
        for name, model in models.items():
            self.metrics.set_model(name, model.step)
        self.batcher = Batcher(self._compute, limits.max_queue, limits.request_timeout, self.metrics.count_waits)
        self._num_explanations = 0

    def replace_model(self, name: str, model: ServedModel) -> None:
        """Answer later batches with another model."""
        # Replace the entry in one assignment, so that a batch uses either the old or the new model.
        self.models[name] = model
        self.batcher.forget_speed(name)
        self.metrics.set_model(name, model.step)

    def _compute(self, key: Key, items: list[Any]) -> list[Any]:
        name = key.model
        model = self.models[name]
        num_cut_texts = model.num_cut_texts
        start_time = time.monotonic()
        operations: dict[str, Callable[[Sequence[Any]], list[Any]]] = {PREDICT: model.answer, EMBED: model.embed}
        results = (key.compute or operations[key.operation])(items)
        seconds = time.monotonic() - start_time
        self.metrics.count_batch(name, len(items), model.num_cut_texts - num_cut_texts, seconds)
        return results

    async def _submit(self, operation: str, model: ServedModel, items: list[Item]) -> list[Any]:
        note_texts(model.name, len(items))
        costs = model.estimate_tokens(items, operation == EMBED)
        key, seconds = Key(operation, model.name), self.limits.request_timeout
        return await self._in_time(self.batcher.submit(key, items, costs, seconds))

    async def _in_time(self, answer: Awaitable[_Answer]) -> _Answer:
        """Return an answer; raise RequestError 504 after the time limit, 499 without a client."""
        try:
            async with asyncio.timeout(self.limits.request_timeout):
                return await answer
        except TimeoutError:
            seconds = self.limits.request_timeout
            raise RequestError(504, f"no answer within {seconds} s (--request_timeout)") from None
        except ConnectionAbortedError:
            raise RequestError(CLIENT_LEFT, "the client has closed the connection") from None

    def refuse_late(self) -> None:
        """Raise RequestError 429 if a small request would not be answered in time."""
        self.batcher.refuse_late()

    async def predict(self, body: JsonObject) -> JsonObject:
        """Answer POST /predict: return one prediction, or a list if the request has `texts`."""
        model = requests.find_model(self.models, body.get("model"))
        if "texts" not in body:
            item = requests.parse_item(body, model, self.limits, "the body")
            return requests.with_indices(model, [item], await self._submit(PREDICT, model, [item]))[0]
        requests.refuse_other_members(body, ("model", "texts"))
        items = requests.parse_items(body["texts"], model, self.limits, "texts")
        return {"predictions": requests.with_indices(model, items, await self._submit(PREDICT, model, items))}

    async def predict_instances(self, name: str, body: JsonObject) -> JsonObject:
        """Answer POST /v1/models/NAME:predict, like TensorFlow Serving's REST API."""
        model = requests.find_model(self.models, name)
        requests.refuse_other_members(body, ("instances", "signature_name"))
        if "instances" not in body:
            raise RequestError(400, "'instances' is missing")
        if body.get("signature_name") not in (None, "", SIGNATURE):
            raise RequestError(400, f"'signature_name': there is only {SIGNATURE!r}")
        items = requests.parse_items(body["instances"], model, self.limits, "instances")
        return {"predictions": requests.with_indices(model, items, await self._submit(PREDICT, model, items))}

    async def explain(self, body: JsonObject) -> JsonObject:
        """Answer POST /explain: return each word's contribution to a classifier's prediction."""
        if not self.limits.explain:
            raise RequestError(403, "this server gives no explanations (--explain=false)")
        model = requests.find_model(self.models, body.get("model"))
        item = requests.parse_item(body, model, self.limits, "the body")
        note_texts(model.name, 1)
        if self._num_explanations >= self.limits.max_explanations:
            seconds = self.batcher.explanation_seconds / self._num_explanations
            message = f"{self._num_explanations} explanations are computed already (--max_explanations)"
            raise RequestError(429, f"{message}; try again later", max(1, math.ceil(seconds)))
        self._num_explanations += 1
        try:
            return await self._in_time(self._explain(model, item))
        finally:
            self._num_explanations -= 1

    async def _explain(self, model: ServedModel, item: Item) -> JsonObject:
        start_time = time.monotonic()
        try:
            # Tokenizing a long text takes longer than a short request may wait.
            plan = await asyncio.to_thread(model.plan_explanation, item, self.limits.max_explain_words)
        except InputError as error:
            raise RequestError(400, str(error)) from None
        costs = [len(copy.token_ids) for copy in plan.copies]
        seconds = self.limits.request_timeout - (time.monotonic() - start_time)
        # All copies need the same model, even if another one replaces it.
        key = Key(EXPLAIN, model.name, plan.score)
        scores = await self.batcher.submit(key, plan.copies, costs, seconds, is_explanation=True)
        if plan.num_cut:
            self.metrics.count_cut_text(model.name)
        return plan.answer(scores)

    async def embeddings(self, body: JsonObject) -> JsonObject:
        """Answer POST /v1/embeddings, like OpenAI's API."""
        model = requests.find_model(self.models, body.get("model"))
        items = requests.embedding_items(body, model, self.limits)
        results = await self._submit(EMBED, model, items)
        return requests.embedding_answer(results, body, model)

    def list_models(self) -> JsonObject:
        """Answer GET /v1/models."""
        return {"object": "list", "data": [self._model_object(model) for model in self.models.values()]}

    def describe_models(self) -> list[JsonObject]:
        """Return name, kind, labels and abilities of each model."""
        return [self._describe(model) for model in self.models.values()]

    def _describe(self, model: ServedModel) -> JsonObject:
        description = model.describe()
        return description | {"explains": description["explains"] and self.limits.explain}

    def _model_object(self, model: ServedModel) -> JsonObject:
        return {"id": model.name, "object": "model", "created": 0, "owned_by": "bert_cli", **self._describe(model)}

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
        return {"model_version_status": [state], **self._model_object(requests.find_model(self.models, name))}

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
            "metadata": {"signature_def": {"signature_def": {SIGNATURE: signature}}},
        }
