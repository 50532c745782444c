"""Answers from a service, with a model that returns text lengths."""

import asyncio

import pytest

from bert_cli.serving.jobs import Key
from bert_cli.serving.responses import RequestError
from bert_cli.serving.service import Service
from bert_cli.settings.serving import Limits
from tests.serving.test_served_model import length_model
from tests.snapshots import raises


def ask(method: str, *arguments, limits: Limits = Limits()) -> dict:  # noqa: B008
    """Return the service's answer to one request."""

    async def run() -> dict:
        service = Service({"lengths": length_model()}, limits)
        try:
            return await getattr(service, method)(*arguments)
        finally:
            service.batcher.close()

    return asyncio.run(run())


def test_one_text_and_several():
    assert ask("predict", {"text": "abc"}) == {"index": 0, "length": 3}
    assert ask("predict", {"texts": ["a", ["bc", "d"]]}) == {
        "predictions": [{"index": 0, "length": 1}, {"index": 1, "length": 3}]
    }


def test_members_besides_several_texts_are_refused():
    with pytest.raises(RequestError, match=r"'text' is unknown; this request takes 'model', 'texts'"):
        ask("predict", {"texts": ["a"], "text": "b"})
    assert len(ask("predict", {"texts": ["a"], "model": "lengths"})["predictions"]) == 1


def test_instances():
    assert ask("predict_instances", "lengths", {"instances": ["a"]}) == {"predictions": [{"index": 0, "length": 1}]}
    with pytest.raises(RequestError, match=r"^'instances' is missing$"):
        ask("predict_instances", "lengths", {})
    signed = {"instances": ["a"], "signature_name": "serving_default"}
    assert len(ask("predict_instances", "lengths", signed)["predictions"]) == 1
    for body, name in (({"signature_name": "other"}, "'signature_name'"), ({"text": "a"}, "'text' is unknown")):
        with pytest.raises(RequestError, match=name):
            ask("predict_instances", "lengths", {"instances": ["a"]} | body)
    with raises(RequestError, "'other'"):
        ask("predict_instances", "other", {"instances": ["a"]})


def test_late_answers_are_errors():
    with raises(RequestError, "--request_timeout") as caught:
        ask("predict", {"text": "abc"}, limits=Limits(request_timeout=0))
    assert caught.value.status == 504


@pytest.fixture
def service() -> Service:
    return Service({"lengths": length_model()}, Limits())


def test_models_are_listed(service):
    (model,) = service.list_models()["data"]
    assert (model["id"], model["object"], model["kind"]) == ("lengths", "model", "length")


def test_every_model_has_version_1(service):
    service.check_version("lengths", "1")
    with raises(RequestError, "'2'"):
        service.check_version("lengths", "2")
    assert service.get_model_status("lengths")["model_version_status"][0]["version"] == "1"


def test_metadata_name_the_fields(service):
    signature = service.get_model_metadata("lengths")["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert list(signature["inputs"]) == ["text", "text_b"]


def test_later_batches_use_a_new_model(service):
    model = length_model("/a/model.ckpt-60")
    service.replace_model("lengths", model)
    assert service.models["lengths"].step == 60
    assert service._compute(Key("predict", "lengths"), []) == []
