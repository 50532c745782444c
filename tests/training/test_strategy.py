"""Devices and precision on a machine with one CPU; test_strategy_replicas.py tests several devices."""

import json
import logging
import os
import pathlib

import pytest
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.runtime.cluster import read_cluster
from bert_cli.training.batch_distribution import check_batch_size, distribute
from bert_cli.training.strategy import (
    compute_dtype,
    describe,
    is_chief,
    is_tpu,
    make_strategy,
    use_exact_float32,
)
from tests.snapshots import check_message, raises

WITH_GPU = bool(tf.config.list_physical_devices("GPU"))
on_cpu = pytest.mark.skipif(WITH_GPU, reason="a GPU is chosen where there is one")


@pytest.fixture
def config(monkeypatch):
    """Return a function that sets or removes TF_CONFIG."""

    def put(text: str | None) -> None:
        if text is None:
            monkeypatch.delenv("TF_CONFIG", raising=False)
        else:
            monkeypatch.setenv("TF_CONFIG", text)

    put(None)
    return put


@on_cpu
@pytest.mark.parametrize("text", [None, "", "{}", '{"cluster": {"worker": ["localhost:1"]}}'])
@pytest.mark.parametrize("name", ["auto", "one_device"])
def test_one_cpu(config, name, text):
    config(text)
    strategy = make_strategy(name, use_tpu=False)
    assert isinstance(strategy, tf.distribute.OneDeviceStrategy)
    assert (describe(strategy), is_chief(strategy), is_tpu(strategy)) == ("1 CPU", True, False)
    check_batch_size(7, strategy, "train_batch_size")


@on_cpu
def test_mirrored_strategy_on_one_cpu(config):
    strategy = make_strategy("mirrored", use_tpu=False)
    assert isinstance(strategy, tf.distribute.MirroredStrategy)
    assert strategy.num_replicas_in_sync == 1


@pytest.mark.parametrize("text", [None, "", '{"task": {"type": "worker", "index": 0}}'])
def test_several_machines_need_tf_config(config, text):
    config(text)
    with raises(InputError, "--distribution_strategy=multi_worker"):
        make_strategy("multi_worker", use_tpu=False)


def test_parameter_servers_are_refused(config):
    config('{"cluster": {"ps": ["a:1"]}}')
    with raises(InputError, "TF_CONFIG.cluster.ps: "):
        make_strategy("multi_worker", use_tpu=False)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{bad", "TF_CONFIG:1: "),
        ("worker-0:2222", "TF_CONFIG:1: "),
        ("[" * 10**6, "TF_CONFIG:1: "),
        ("[]", "TF_CONFIG: "),
        ('{"cluster": null}', "TF_CONFIG.cluster: "),
        ('{"cluster": {"worker": "a:1"}}', "TF_CONFIG.cluster.worker: "),
        ('{"cluster": {"worker": ["a:1", 2]}}', "TF_CONFIG.cluster.worker[1]: "),
    ],
)
def test_invalid_tf_config_is_reported_in_one_line(config, text, place):
    config(text)
    with raises(InputError) as error:
        make_strategy("auto", use_tpu=False)
    check_message(error, place)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("name", "use_tpu"), [("tpu", False), ("auto", True)])
def test_unreachable_tpu_is_reported_in_one_line(config, name, use_tpu, caplog):
    with raises(InputError, "--tpu_name=nowhere"):
        make_strategy(name, use_tpu, tpu_name="nowhere", tpu_zone="a", gcp_project="b")
    with caplog.at_level(logging.DEBUG, "bert_cli"), raises(InputError):
        make_strategy(name, use_tpu)
    assert caplog.messages[-1].startswith("TensorFlow says: ")


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_precision_flag_is_used(precision):
    assert compute_dtype(precision, tf.distribute.OneDeviceStrategy("/cpu:0")) == precision


def test_float32_is_not_tensor_float_32():
    switch = tf.config.experimental
    before = switch.tensor_float_32_execution_enabled()
    switch.enable_tensor_float_32_execution(True)
    try:
        use_exact_float32("bfloat16")
        assert switch.tensor_float_32_execution_enabled()
        use_exact_float32("float32")
        assert not switch.tensor_float_32_execution_enabled()
    finally:
        switch.enable_tensor_float_32_execution(before)


@pytest.mark.skipif(not os.path.exists("/proc/cpuinfo"), reason="needs /proc/cpuinfo")
def test_bfloat16_if_the_processor_supports_it():
    flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii", errors="ignore").split()
    fast = "amx_bf16" in flags or "avx512_bf16" in flags
    assert compute_dtype("auto", tf.distribute.OneDeviceStrategy("/cpu:0")) == ("bfloat16" if fast else "float32")


def test_batch_on_one_device_is_not_split():
    batch = {"input_mask": [[1, 1], [1, 0], [1, 1]], "label_ids": [2, 0, 1]}
    placed = distribute(batch, tf.distribute.OneDeviceStrategy("/cpu:0"))
    assert {name: value.numpy().tolist() for name, value in placed.items()} == batch


def test_logical_devices_need_a_mirrored_strategy():
    with raises(InputError, "--num_virtual_devices=2"):
        make_strategy("one_device", use_tpu=False, num_virtual_devices=2)


@pytest.mark.parametrize(
    ("cluster", "task_type", "index", "expected"),
    [
        ({"chief": ["a:1"], "worker": ["b:1", "c:1"]}, "chief", 0, (3, True)),
        ({"chief": ["a:1"], "worker": ["b:1", "c:1"]}, "worker", 0, (3, False)),
        ({"chief": ["a:1"], "worker": ["b:1"]}, "worker", 0, (2, False)),
        ({"worker": ["b:1", "c:1"]}, "worker", 0, (2, True)),
        ({"worker": ["b:1", "c:1"]}, "worker", 1, (2, False)),
    ],
)
def test_workers_train_and_the_chief_writes(config, cluster, task_type, index, expected):
    config(json.dumps({"cluster": cluster, "task": {"type": task_type, "index": index}}))
    assert read_cluster()[:2] == expected
