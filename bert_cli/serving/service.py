"""The service that all protocols call: models by name, a request queue and answers."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import JsonObject
from bert_cli.features.packing import cut_entry
from bert_cli.serving.access import current_client, note_texts
from bert_cli.serving.batching import Batcher
from bert_cli.serving.items import Embedding, Item, Token
from bert_cli.serving.jobs import BatchKey
from bert_cli.serving.keys import Client
from bert_cli.serving.metrics import ServerMetrics
from bert_cli.serving.processes import list_this_process
from bert_cli.serving.requests import find_served_model
from bert_cli.serving.responses import CLIENT_LEFT, RequestError
from bert_cli.serving.served_model import ENCODER, ServedModel
from bert_cli.settings.serving import Limits

# Operations of a batch.
PREDICT, EXPLAIN, EMBED = "predict", "explain", "embed"
_Answer = TypeVar("_Answer")
# Most tokens in an answer with tokens, which have about 100 bytes as JSON.
_MAX_TOKENS = 200_000


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
        self,
        models: dict[str, ServedModel],
        limits: Limits,
        list_processes: Callable[[], list[int]] = list_this_process,
    ):
        self.models = models
        self.limits = limits
        self.metrics = ServerMetrics(lambda: self.batcher.waiting, list_processes)
        for name, model in models.items():
            self.metrics.set_model(name, model.step)
        self.batcher = Batcher(self._compute, limits.max_queue, limits.request_timeout, self.metrics.count_waits)
        self._num_explanations = 0
        # One request at a time, so that others keep the processor and the memory.
        self._tokenizing = ThreadPoolExecutor(1, "tokens")

    def replace_model(self, name: str, model: ServedModel) -> None:
        """Answer later batches with another model."""
        # Replace the entry in one assignment, so that a batch uses either the old or the new model.
        self.models[name] = model
        self.batcher.forget_speed(name)
        self.metrics.set_model(name, model.step)

    def _compute(self, key: BatchKey, items: list[Any]) -> list[Any]:
        name = key.model
        model = self.models[name]
        num_cut_texts = model.num_cut_texts
        start_time = time.monotonic()
        compute = key.compute or (model.vectors.embed if key.operation == EMBED else model.answer)
        results = compute(items)
        seconds = time.monotonic() - start_time
        self.metrics.count_batch(name, len(items), model.num_cut_texts - num_cut_texts, seconds)
        return results

    def _admit(self, model: ServedModel, num_texts: int) -> Client:
        """Count texts for this task's client; raise RequestError 429 for its limit.

        Args:
            model: the model that answers.
            num_texts: number of texts in the request.
        """
        client = note_texts(model.name, num_texts)
        if seconds := client.take_texts(num_texts):
            limit = f"{client.texts_per_second:g} texts per second"
            raise RequestError(429, f"this API key may send {limit}; try again later", seconds)
        return client

    async def _submit(self, operation: str, model: ServedModel, items: list[Item]) -> list[Any]:
        self._admit(model, len(items))
        costs = model.estimate_tokens(items, operation == EMBED)
        key, seconds = BatchKey(operation, model.name), self.limits.request_timeout
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

    async def predict(self, model: ServedModel, items: list[Item]) -> list[JsonObject]:
        """Return a model's answers."""
        return await self._submit(PREDICT, model, items)

    async def embed(self, model: ServedModel, items: list[Item]) -> list[Embedding]:
        """Return a model's vectors."""
        return await self._submit(EMBED, model, items)

    async def answer(self, model: ServedModel, items: list[Item]) -> list[JsonObject]:
        """Return a model's answers, or an encoder's vectors as the member `embedding`."""
        if model.kind != ENCODER:
            return await self.predict(model, items)
        embeddings = await self.embed(model, items)
        return [{"embedding": embedding.vector.tolist()} | cut_entry(embedding.num_cut) for embedding in embeddings]

    async def tokenize(
        self, model: ServedModel, items: list[Item], write: Callable[[Iterator[list[Token]]], str]
    ) -> str:
        """Return a text with the tokens of each item's first text.

        Args:
            write: makes the text from the tokens per item; another thread calls it.

        Raises:
            RequestError: 413 for too many tokens.
        """
        self._admit(model, len(items))
        loop = asyncio.get_running_loop()
        return await self._in_time(loop.run_in_executor(self._tokenizing, lambda: write(_tokenize(model, items))))

    async def explain(self, model: ServedModel, item: Item) -> JsonObject:
        """Return each word's contribution to a classifier's prediction."""
        if not self.limits.explain:
            raise RequestError(403, "this server gives no explanations (--explain=false)")
        client = self._admit(model, 1)
        if self._num_explanations >= self.limits.max_explanations:
            seconds = self.batcher.explanation_seconds / self._num_explanations
            message = f"{self._num_explanations} explanations are computed already (--max_explanations)"
            raise RequestError(429, f"{message}; try again later", max(1, math.ceil(seconds)))
        self._num_explanations += 1
        try:
            return await self._in_time(self._explain(model, item, client))
        finally:
            self._num_explanations -= 1

    async def _explain(self, model: ServedModel, item: Item, client: Client) -> JsonObject:
        start_time = time.monotonic()
        try:
            # Tokenizing a long text takes longer than a short request may wait.
            plan = await asyncio.to_thread(model.plan_explanation, item, self.limits.max_explain_words)
        except InputError as error:
            raise RequestError(400, str(error)) from None
        # Its copies take the time of texts.
        client.charge(len(plan.copies) - 1)
        costs = [len(copy.token_ids) for copy in plan.copies]
        seconds = self.limits.request_timeout - (time.monotonic() - start_time)
        # All copies need the same model, even if another one replaces it.
        key = BatchKey(EXPLAIN, model.name, plan.score)
        scores = await self.batcher.submit(key, plan.copies, costs, seconds, is_explanation=True)
        if plan.num_cut:
            self.metrics.count_cut_text(model.name)
        return plan.answer(scores)

    def usable_models(self) -> dict[str, ServedModel]:
        """Return the models that this task's client may use; the first is its default."""
        names = current_client().models
        return {name: self.models[name] for name in names} if names else self.models

    def find_model(self, name: object) -> ServedModel:
        """Return the model with a name, or the client's default for None.

        Raises:
            RequestError: 403 for a model that the client may not use, 404 for an unknown name.
        """
        models = self.usable_models()
        if isinstance(name, str) and name in self.models and name not in models:
            raise RequestError(403, f"this API key may use {', '.join(models)}, and not {name}")
        return find_served_model(models, name)

    def describe_models(self) -> list[JsonObject]:
        """Return name, kind, labels and abilities of each model that this task's client may use."""
        return [self.describe(model) for model in self.usable_models().values()]

    def describe(self, model: ServedModel) -> JsonObject:
        """Return name, kind, labels and abilities of a model."""
        description = model.describe()
        return description | {"explains": description["explains"] and self.limits.explain}


def _tokenize(model: ServedModel, items: list[Item]) -> Iterator[list[Token]]:
    num_tokens = 0
    for item in items:
        tokens = model.vectors.tokenize(item.first, item.prompt_name)
        num_tokens += len(tokens)
        if num_tokens > _MAX_TOKENS:
            raise RequestError(413, f"{item.place}: over {_MAX_TOKENS:,} tokens so far; send fewer texts in a request")
        yield tokens
