"""Answers from a service, with a model that returns text lengths."""

import asyncio
import threading
import time

import numpy as np
import pytest

from bert_cli.serving.access import begin_request
from bert_cli.serving.items import Item, MaskedCopy, PreparedExplanation, Token
from bert_cli.serving.jobs import BatchKey
from bert_cli.serving.keys import Client
from bert_cli.serving.responses import RequestError
from bert_cli.serving.service import Service
from bert_cli.settings.serving import Limits
from tests.serving.test_served_model import length_model
from tests.snapshots import raises


def ask(method: str, *arguments, limits: Limits = Limits()) -> dict:  # noqa: B008
    """Return the service's answer to one request."""

    async def run() -> dict:
        model = length_model()
        service = Service({"lengths": model}, limits)
        try:
            return await getattr(service, method)(model, *arguments)
        finally:
            service.batcher.close()

    return asyncio.run(run())


def test_answers_are_in_order():
    items = [Item("a"), Item("bc", "d")]
    assert ask("predict", items) == [{"length": 1}, {"length": 3}]
    assert ask("answer", items) == [{"length": 1}, {"length": 3}]


def test_late_answers_are_errors():
    with raises(RequestError, "--request_timeout") as caught:
        ask("predict", [Item("abc")], limits=Limits(request_timeout=0))
    assert caught.value.status == 504


@pytest.fixture
def service() -> Service:
    return Service({"lengths": length_model()}, Limits())


def test_models_are_described(service):
    (model,) = service.describe_models()
    assert (model["name"], model["kind"], model["explains"]) == ("lengths", "length", False)


def test_later_batches_use_a_new_model(service):
    model = length_model("/a/model.ckpt-60")
    service.replace_model("lengths", model)
    assert service.models["lengths"].step == 60
    assert service._compute(BatchKey("predict", "lengths"), []) == []


def test_one_request_for_tokens_runs_at_a_time():
    running, threads = [], set()

    class Vectors:
        def tokenize(self, text, prompt_name):
            threads.add(threading.get_ident())
            running.append(text)
            time.sleep(0.002)
            return [Token(text, 7, (0, 1))]

    async def run() -> list:
        model = length_model()
        model._vectors = Vectors()
        service = Service({"lengths": model}, Limits())
        write = lambda texts: "".join(tokens[0].text for tokens in texts)  # noqa: E731
        try:
            requests = [service.tokenize(model, [Item(name)] * 3, write) for name in "abc"]
            return await asyncio.gather(*requests)
        finally:
            service.batcher.close()

    assert asyncio.run(run()) == ["aaa", "bbb", "ccc"]
    assert "".join(running) == "aaabbbccc"
    assert threading.get_ident() not in threads


def test_an_explanation_counts_as_its_copies():
    copy = MaskedCopy(np.zeros(3, np.int32), np.zeros(3, np.int8))
    plan = PreparedExplanation([copy] * 11, 0, lambda copies: [0] * len(copies), lambda scores: {"copies": len(scores)})
    client = Client(texts_per_second=0.1)

    async def run() -> dict:
        begin_request({"headers": []}).client = client
        model = length_model()
        model.plan_explanation = lambda item, max_words: plan
        service = Service({"lengths": model}, Limits())
        try:
            return await service.explain(model, Item("a b"))
        finally:
            service.batcher.close()

    assert asyncio.run(run()) == {"copies": 11}
    # 11 texts take 110 seconds, but the first second is free.
    assert 105 <= client.take_texts(1) <= 109
