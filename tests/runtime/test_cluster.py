"""TF_CONFIG: who of several processes this is, and who writes."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.runtime.cluster import is_multi_worker, read_cluster, writes

TWO = ["a:1", "b:2"]


@pytest.mark.parametrize(
    ("config", "computing", "is_chief", "task"),
    [
        ({}, 0, True, "the only process"),
        ({"cluster": {"worker": TWO}, "task": {"type": "worker", "index": 0}}, 2, True, "worker 0"),
        ({"cluster": {"worker": TWO}, "task": {"type": "worker", "index": "1"}}, 2, False, "worker 1"),
        ({"cluster": {"chief": ["c:3"], "worker": TWO}, "task": {"type": "worker"}}, 3, False, "worker 0"),
        ({"cluster": {"master": ["c:3"], "worker": TWO}, "task": {"type": "master"}}, 3, True, "master 0"),
        ({"cluster": {"worker": TWO}, "task": {"type": "evaluator"}}, 2, False, "evaluator 0"),
    ],
)
def test_processes(monkeypatch, config, computing, is_chief, task):
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    found = read_cluster()
    assert (found.computing, found.is_chief, found.task) == (computing, is_chief, task)
    assert is_multi_worker("auto") is (computing > 1)
    assert not is_multi_worker("one_device")
    assert writes("auto") is is_chief
    assert writes("tpu")


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
def test_other_forms_are_refused(monkeypatch, text, place):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(InputError, match=rf"environment variable {place}\b.*HOST:PORT"):
        read_cluster()
