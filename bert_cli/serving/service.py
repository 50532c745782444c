"""The service that the HTTP routes call: models by name, a request queue, answers, and reloading.

Newer checkpoints replace models (--watch), and SIGHUP reloads models and API keys.
"""

import asyncio
import contextlib
import queue
import time
from collections.abc import Callable, Mapping
from threading import Thread
from typing import Any

from bert_cli.base.errors import first_line
from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import LOG
from bert_cli.serving import requests
from bert_cli.serving.access import ApiKeys, note_texts
from bert_cli.serving.batching import Batcher
from bert_cli.serving.loading import load_served
from bert_cli.serving.metrics import Metrics
from bert_cli.serving.processes import this_process
from bert_cli.serving.responses import RequestError
from bert_cli.serving.served_model import Item, ServedModel
from bert_cli.settings.model_use import ModelFlags
from bert_cli.settings.serving import Limits
from bert_cli.weights.path import file_version, find_checkpoint

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

    def __init__(
        self, models: dict[str, ServedModel], limits: Limits, list_processes: Callable[[], list[int]] = this_process
    ):
        self.models = models
        self.limits = limits
        self.metrics = Metrics(lambda: self.batcher.waiting, list_processes)
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
        requests.refuse_other_members(body, ("model", "texts"))
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
        return requests.embedding_answer(results, body, model)

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


class Watcher:
    """Thread that looks for new checkpoints, regularly or when a reload is requested."""

    def __init__(
        self,
        service: Service,
        paths: Mapping[str, str],
        flags: Mapping[str, ModelFlags],
        keys: ApiKeys,
        seconds: float | None,
    ):
        """Start the thread.

        Args:
            service: contains the models that are replaced.
            paths: each model's directory, by name. The newest checkpoint there is used.
            flags: flags for loading, by model name.
            keys: API keys that a reload reads again.
            seconds: time between two checks; None to check only on request.
        """
        self._service = service
        self._paths = dict(paths)
        self._flags = flags
        self._keys = keys
        self._seconds = seconds
        # By model name: the checkpoint that could not be loaded, or else the error message.
        self._rejected: dict[str, str] = {}
        self._versions = {name: file_version(model.checkpoint.location) for name, model in service.models.items()}
        # Its `put` is reentrant, so signal handlers may call it. True requests a reload, False ends
        # the thread.
        self._requests: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._thread = Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    def request_reload(self) -> None:
        """Let the thread read API keys and checkpoints again; signal handlers may call this."""
        self._requests.put(True)

    def close(self) -> None:
        """End the thread."""
        self._requests.put(False)
        self._thread.join()

    def _run(self) -> None:
        while True:
            is_reload = None
            with contextlib.suppress(queue.Empty):
                is_reload = self._requests.get(timeout=self._seconds)
            if is_reload is False:
                return
            if is_reload:
                self._reload_keys()
            for name, path in self._paths.items():
                if is_reload:
                    # Try a rejected checkpoint again, because its files may have been repaired.
                    self._rejected.pop(name, None)
                self.update(name, path, is_reload=bool(is_reload))

    def _reload_keys(self) -> None:
        is_success = False
        try:
            self._keys.reload()
            is_success = True
            LOG.info("reload: %d API keys", len(self._keys))
        except Exception as error:
            LOG.error("error: %s; the old API keys stay valid", first_line(error))
        self._service.metrics.count_key_reload(is_success)

    def update(self, name: str, path: str, is_reload: bool = False) -> None:
        """Replace the model if its directory has a checkpoint that is not served yet.

        A checkpoint that cannot be loaded is logged once, and the old model continues.

        Args:
            name: name of the model.
            path: its directory.
            is_reload: also replace a model if the files of its checkpoint have changed.
        """
        newest = self._rejected.get(name, "")
        served = self._service.models[name].checkpoint
        try:
            # Be strict: a damaged checkpoint is an error here, instead of using an older one.
            checkpoint = find_checkpoint(path, "output_dir", strict=True)
            newest = checkpoint.location
            version = file_version(newest)
            has_changed = newest != served.location or (is_reload and version != self._versions[name])
            if not has_changed and is_reload:
                LOG.info("reload: %s: %s is the newest checkpoint", name, served.name)
            if not has_changed or newest == self._rejected.get(name):
                return
            # Load and check the new model while the old one still answers.
            model = load_served(name, checkpoint, self._flags[name])
        except Exception as error:
            if self._rejected.get(name) != (newest or str(error)):
                self._rejected[name] = newest or str(error)
                self._service.metrics.count_reload(name, is_success=False)
                LOG.error(
                    "error: %s cannot be used: %s; %s stays in use", newest or path, first_line(error), served.name
                )
            return
        self._rejected.pop(name, None)
        self._versions[name] = version
        self._service.replace_model(name, model)
        self._service.metrics.count_reload(name, is_success=True)
        LOG.info("%s: now serving %s", name, model.checkpoint.name)
