"""Engine for answers to new texts: a rule that uses flags and devices."""

import json

import pytest

from bert_cli.settings import devices
from bert_cli.settings.devices import Devices


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    monkeypatch.setattr(devices, "has_gpu", lambda: False)


@pytest.mark.parametrize("precision", ["auto", "float32"])
def test_onnxruntime_is_the_default(precision):
    chosen = Devices(precision=precision).for_answers()
    assert (chosen.engine, chosen.precision) == ("onnxruntime", "float32")


@pytest.mark.parametrize(
    "flags",
    [
        {"engine": "tensorflow"},
        {"precision": "bfloat16"},
        {"precision": "float16"},
        {"precision": "int8"},
        {"use_tpu": True},
        {"distribution_strategy": "one_device"},
    ],
)
def test_other_flags_keep_the_engine(flags):
    assert Devices(**flags).for_answers() == Devices(**flags)


def test_tensorflow_with_gpus_several_processes_or_modules(monkeypatch):
    assert Devices().for_answers(is_bert=False) == Devices()
    workers = {"cluster": {"worker": ["localhost:1", "localhost:2"]}, "task": {"type": "worker", "index": 0}}
    with monkeypatch.context() as patch:
        patch.setenv("TF_CONFIG", json.dumps(workers))
        assert Devices().for_answers() == Devices()
    monkeypatch.setattr(devices, "has_gpu", lambda: True)
    assert Devices().for_answers() == Devices()
