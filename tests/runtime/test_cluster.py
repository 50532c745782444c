"""TF_CONFIG: the role of this process, and whether it writes files."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.runtime.cluster import is_multi_worker, is_writer, read_cluster

TWO = ["a:1", "b:2"]


@pytest.mark.parametrize(
    ("config", "num_training", "is_chief", "task"),
    [
        ({}, 0, True, "the only process"),
        ({"cluster": {"worker": TWO}, "task": {"type": "worker", "index": 0}}, 2, True, "worker 0"),
        ({"cluster": {"worker": TWO}, "task": {"type": "worker", "index": "1"}}, 2, False, "worker 1"),
        ({"cluster": {"chief": ["c:3"], "worker": TWO}, "task": {"type": "worker"}}, 3, False, "worker 0"),
        ({"cluster": {"master": ["c:3"]}, "task": {"type": "master"}}, 1, True, "master 0"),
        ({"cluster": {"evaluator": ["e:1"], "worker": TWO}, "task": {"type": "worker"}}, 2, True, "worker 0"),
        ({"cluster": {"worker": ["a:1"]}}, 1, True, "the only process"),
        ({"cluster": {}, "task": {"type": "worker", "index": 0}, "environment": "cloud"}, 0, True, "worker 0"),
        (
            {"cluster": {"ps": [], "worker": ["[::1]:1", "a-b.c_d:65535"]}, "task": {"type": "worker"}},
            2,
            True,
            "worker 0",
        ),
    ],
)
def test_read_cluster(monkeypatch, config, num_training, is_chief, task):
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    cluster = read_cluster()
    assert (cluster.num_training, cluster.is_chief, cluster.task) == (num_training, is_chief, task)
    assert is_multi_worker("auto") is (num_training > 1)
    assert not is_multi_worker("one_device")
    assert is_writer("auto") is is_chief
    assert is_writer("tpu")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[]", "TF_CONFIG"),
        ("{", "TF_CONFIG"),
        ('{"cluster": []}', "TF_CONFIG.cluster"),
        ('{"cluster": {"worker": "a:1"}}', "TF_CONFIG.cluster.worker"),
        ('{"cluster": {"worker": [1]}}', "TF_CONFIG.cluster.worker"),
        ('{"task": {"type": "worker", "index": "x"}}', "TF_CONFIG.task.index"),
    ],
)
def test_malformed_configs_are_refused(monkeypatch, text, place):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(InputError, match=rf"environment variable {place}\b.*HOST:PORT"):
        read_cluster()


def task(role: str, index: object = 0) -> dict:
    return {"task": {"type": role, "index": index}}


@pytest.mark.parametrize(
    ("cluster", "task", "message"),
    [
        ({"ps": ["a:1"], "worker": TWO}, task("worker"), r"\.cluster\.ps: bert_cli has no use for parameter servers"),
        ({"ps": ["a:1"], "chief": ["b:2"]}, task("ps"), r"\.cluster\.ps: "),
        ({"worker": TWO}, task("ps", 1), r"\.task: ps 1 does not train: give the command to worker 0, worker 1 alone"),
        ({"chief": ["a:1"], "worker": ["b:2"]}, task("evaluator"), r"evaluator 0 does not train: .* chief 0, worker 0"),
        ({"worker_hosts": TWO}, task("worker"), r"\.cluster\.worker_hosts: is not a role; chief and worker train"),
        ({"Worker": TWO}, task("worker"), r"\.cluster\.Worker: is not a role"),
        ({"worker": TWO}, task("Worker"), r"\.task\.type: 'Worker' is not a role"),
        ({"worker": TWO}, task("worker", 5), r"\.task: worker 5 is not in the cluster, which has worker 0, worker 1"),
        ({"worker": TWO}, task("worker", "2"), r"\.task: worker 2 is not in the cluster"),
        ({"worker": TWO}, task("worker", -1), r"\.task: worker -1 is not in the cluster"),
        ({"worker": TWO}, task("chief"), r"\.task: chief 0 is not in the cluster"),
        ({}, task("worker", 3), r"\.task: worker 3 is not in the cluster, which has no process"),
        ({"worker": TWO}, task("worker", True), r"\.task\.index: is true or false, a whole number"),
        ({"worker": TWO}, {}, r'\.task: has no "type"; name this process, one of worker 0, worker 1'),
        ({"chief": ["a:1", "b:2"]}, task("chief"), r"\.cluster: has chief 0 and chief 1; at most one chief"),
        ({"master": ["a:1"], "worker": ["b:2"]}, task("master"), r"\.cluster\.master: .*rename it to chief"),
    ],
)
def test_roles_that_cannot_train_are_refused(monkeypatch, cluster, task, message):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster} | task))
    with pytest.raises(InputError, match=message):
        is_writer("auto")


@pytest.mark.parametrize(
    "address",
    ["", "a", "a:", ":1", "a:0", "a:65536", "a:x", "a b:1", "$(HOST):1", "${HOST}:1", "<host>:1", "grpc://a:1", "::1:1",
     "a:1,b:2", "a:1:2", " a:1", "a:+1", "[::1]"],
)  # fmt: skip
def test_malformed_addresses_are_refused(monkeypatch, address):
    config = {"cluster": {"chief": ["c:1"], "worker": ["b:2", address]}} | task("chief")
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    with pytest.raises(InputError) as caught:
        read_cluster()
    place = "the environment variable TF_CONFIG.cluster.worker[1]"
    assert str(caught.value) == f"{place}: {address!r} is not HOST:PORT; correct the address of worker 1"


@pytest.mark.parametrize(
    ("cluster", "names"),
    [
        ({"worker": ["a:1", "a:1"]}, "worker 0 and worker 1 have the same address, a:1"),
        ({"chief": ["a:1"], "worker": ["b:1", "A:1"]}, "chief 0 and worker 1 have the same address, A:1"),
        ({"worker": ["c:1", "a:1", "b:1", "b:1"]}, "worker 2 and worker 3 have the same address, b:1"),
    ],
)
def test_equal_addresses_are_refused(monkeypatch, cluster, names):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster} | task("worker")))
    with pytest.raises(InputError, match=names):
        read_cluster()
