"""Engine for answers to new texts: a rule that uses flags and devices."""

import json

import pytest

from bert_cli.base.log import LOG, warn_once
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


WORKERS = {"cluster": {"worker": ["localhost:1", "localhost:2"]}, "task": {"type": "worker", "index": 0}}


@pytest.mark.parametrize(("text", "is_warned"), [(json.dumps(WORKERS), True), ("{", True), ("{}", False), ("", False)])
def test_new_texts_need_no_cluster(text, is_warned, monkeypatch, caplog):
    warn_once.cache_clear()
    monkeypatch.setenv("TF_CONFIG", text)
    with monkeypatch.context() as patch:
        patch.setattr(LOG, "propagate", True)
        for _ in range(2):
            assert Devices().for_answers().engine == "onnxruntime"
    assert caplog.text.count("TF_CONFIG is ignored") == is_warned
    alone = Devices(precision="bfloat16").for_answers()
    assert alone.distribution_strategy == ("mirrored" if is_warned else "auto")
    in_cluster = Devices(distribution_strategy="multi_worker")
    assert in_cluster.for_answers() == in_cluster


def test_tensorflow_with_gpus_or_modules(monkeypatch):
    assert Devices().for_answers(is_bert=False) == Devices().for_vectors(is_bert=False) == Devices()
    monkeypatch.setattr(devices, "has_gpu", lambda: True)
    assert Devices().for_answers() == Devices().for_vectors(is_bert=True) == Devices()


@pytest.mark.parametrize(
    ("precision", "is_fast", "has_openvino", "chosen"),
    [
        ("float32", True, True, ("onnxruntime", "float32")),
        ("auto", False, True, ("onnxruntime", "float32")),
        ("auto", True, True, ("openvino", "bfloat16")),
        ("auto", True, False, ("auto", "auto")),
        ("bfloat16", True, True, ("openvino", "bfloat16")),
        ("bfloat16", False, True, ("auto", "bfloat16")),
        ("float16", True, True, ("auto", "float16")),
        ("int8", True, True, ("auto", "int8")),
    ],
)
def test_engine_for_vectors(precision, is_fast, has_openvino, chosen, monkeypatch):
    monkeypatch.setattr(devices, "has_fast_bfloat16", lambda: is_fast)
    monkeypatch.setattr(devices, "OPENVINO", "openvino" if has_openvino else "package_that_is_missing")
    flags = Devices(precision=precision).for_vectors(is_bert=True)
    assert (flags.engine, flags.precision) == chosen
    for decided in (Devices(engine="tensorflow"), Devices(distribution_strategy="one_device")):
        assert decided.for_vectors(is_bert=True) == decided
