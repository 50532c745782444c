"""TF_CONFIG: the role of this process, and whether it writes files."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.runtime.cluster import is_multi_worker, is_writer, read_cluster
from tests.snapshots import check_message, raises

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
    ("cluster", "task", "place"),
    [
        ({"ps": ["a:1"], "worker": TWO}, task("worker"), ".cluster.ps: "),
        ({"ps": ["a:1"], "chief": ["b:2"]}, task("ps"), ".cluster.ps: "),
        ({"worker": TWO}, task("ps", 1), ".task: "),
        ({"chief": ["a:1"], "worker": ["b:2"]}, task("evaluator"), ""),
        ({"worker_hosts": TWO}, task("worker"), ".cluster.worker_hosts: "),
        ({"Worker": TWO}, task("worker"), ".cluster.Worker: "),
        ({"worker": TWO}, task("Worker"), ".task.type: "),
        ({"worker": TWO}, task("worker", 5), ".task: "),
        ({"worker": TWO}, task("worker", "2"), ".task: "),
        ({"worker": TWO}, task("worker", -1), ".task: "),
        ({"worker": TWO}, task("chief"), ".task: "),
        ({}, task("worker", 3), ".task: "),
        ({"worker": TWO}, task("worker", True), ".task.index: "),
        ({"worker": TWO}, {}, ".task: "),
        ({"chief": ["a:1", "b:2"]}, task("chief"), ".cluster: "),
        ({"master": ["a:1"], "worker": ["b:2"]}, task("master"), ".cluster.master: "),
    ],
)
def test_roles_that_cannot_train_are_refused(monkeypatch, cluster, task, place):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster} | task))
    with raises(InputError, place):
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
    check_message(caught, f"{place}: ")


@pytest.mark.parametrize(
    ("cluster", "fragment"),
    [
        ({"worker": ["a:1", "a:1"]}, "1 have"),
        ({"chief": ["a:1"], "worker": ["b:1", "A:1"]}, "1 have"),
        ({"worker": ["c:1", "a:1", "b:1", "b:1"]}, "3 have"),
    ],
)
def test_equal_addresses_are_refused(monkeypatch, cluster, fragment):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster} | task("worker")))
    with raises(InputError, fragment):
        read_cluster()
