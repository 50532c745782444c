"""The engine that answers new texts: a rule of flags and devices alone."""

import json

import pytest

from bert_cli.settings import devices
from bert_cli.settings.devices import Devices


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    monkeypatch.setattr(devices, "has_gpu", lambda: False)


@pytest.mark.parametrize("precision", ["auto", "float32"])
def test_onnxruntime_answers(precision):
    found = Devices(precision=precision).for_answers()
    assert (found.engine, found.precision) == ("onnxruntime", "float32")


@pytest.mark.parametrize(
    "given",
    [
        {"engine": "tensorflow"},
        {"precision": "bfloat16"},
        {"precision": "float16"},
        {"precision": "int8"},
        {"use_tpu": True},
        {"distribution_strategy": "one_device"},
    ],
)
def test_flags_that_ask_for_something_else_are_followed(given):
    assert Devices(**given).for_answers() == Devices(**given)


def test_tensorflow_answers_with_gpus_several_processes_and_modules(monkeypatch):
    assert Devices().for_answers(is_bert=False) == Devices()
    workers = {"cluster": {"worker": ["localhost:1", "localhost:2"]}, "task": {"type": "worker", "index": 0}}
    with monkeypatch.context() as patch:
        patch.setenv("TF_CONFIG", json.dumps(workers))
        assert Devices().for_answers() == Devices()
    monkeypatch.setattr(devices, "has_gpu", lambda: True)
    assert Devices().for_answers() == Devices()
