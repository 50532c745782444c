"""Models that are named as hf:owner/name, from a server on this machine and the real huggingface_hub."""

import hashlib
import json
import logging
import os
import pathlib

import pytest

from bert_cli.base.errors import InputError
from bert_cli.run_directory.manifest import model_manifest
from bert_cli.weights.path import find_checkpoint
from tests.hub_server import Repository, connected, restart, running_hub
from tests.snapshots import raises

pytest.importorskip("huggingface_hub", reason="needs the extra hub")
CONFIG = {"model_type": "bert", "vocab_size": 30}


@pytest.fixture(scope="module")
def server():
    with running_hub() as hub:
        yield hub


@pytest.fixture
def hub(server, tmp_path):
    """Return the server of this file, for an empty cache."""
    with connected(server, tmp_path / "cache") as hub:
        yield hub


def model(config=None, **contents: bytes) -> Repository:
    """Return a repository; `__` in a name is a point."""
    stored = {name.replace("__", "."): content for name, content in contents.items()}
    return Repository({"config.json": json.dumps(config or CONFIG).encode(), **stored})


def test_only_needed_files_are_downloaded(hub, caplog):
    caplog.set_level(logging.INFO)
    hub.models["a/b"] = Repository(
        {
            **model(vocab__txt=b"[PAD]\n", model__safetensors=b"weights").files,
            "1_Pooling/config.json": b"{}",
            "2_Dense/model.safetensors": b"dense",
            "onnx/model.onnx": b"exported",
            "onnx/model.safetensors": b"others",
            "pytorch_model.bin": b"pickle",
            "tf_model.h5": b"the same weights",
            "modeling_b.py": b"raise SystemExit",
            "README.md": b"text",
        }
    )
    checkpoint = find_checkpoint("hf:a/b")
    expected = ["1_Pooling/config.json", "2_Dense/model.safetensors", "config.json", "model.safetensors", "vocab.txt"]
    assert sorted(hub.sent) == expected
    commit = hub.models["a/b"].commit
    assert checkpoint.name == checkpoint.identity == f"hf:a/b@{commit}"
    assert pathlib.Path(checkpoint.file).read_bytes() == b"weights"
    assert "downloading model.safetensors, 0 kB" in caplog.text
    assert f"hf:a/b: commit {commit} in {checkpoint.location}" in caplog.text
    assert model_manifest_of(checkpoint) == (checkpoint.identity, hashlib.sha256(b"weights").hexdigest())


def model_manifest_of(checkpoint):
    class Config:
        def values(self):
            return {}

    manifest = model_manifest(Config(), None, {}, checkpoint)
    return manifest["init_checkpoint"], manifest["init_checkpoint_sha256"]


def test_the_cache_is_enough_without_a_network(hub, monkeypatch, caplog):
    hub.models["a/offline"] = model(model__safetensors=b"weights")
    first = find_checkpoint("hf:a/offline@v1")
    hub.sent.clear()
    for name, value in {"HF_HUB_OFFLINE": "1", "HF_ENDPOINT": "http://127.0.0.1:9"}.items():
        monkeypatch.setenv(name, value)
        restart()
        assert find_checkpoint("hf:a/offline@v1") == first
        with raises(InputError, "cache"):
            find_checkpoint("hf:a/never")
        monkeypatch.delenv(name)
    assert hub.sent == []


def test_a_revision_and_a_pull_request(hub):
    repository = hub.models["a/c"] = model(model__safetensors=b"weights")
    for revision in ("v1", "refs/pr/1", repository.commit):
        assert find_checkpoint(f"hf:a/c@{revision}").name == f"hf:a/c@{repository.commit}"
    with raises(InputError, "revision v2"):
        find_checkpoint("hf:a/c@v2")


def test_a_process_keeps_the_commit(hub):
    hub.models["a/moving"] = model(model__safetensors=b"old")
    first = find_checkpoint("hf:a/moving")
    hub.models["a/moving"] = model(model__safetensors=b"new")
    assert find_checkpoint("hf:a/moving") == find_checkpoint("hf:a/moving", "output_dir") == first
    restart()
    second = find_checkpoint("hf:a/moving")
    assert second.identity != first.identity
    assert pathlib.Path(second.file).read_bytes() == b"new"


@pytest.mark.parametrize(
    "name", ["model-00002-of-00002.safetensors", "model-00001-of-00002.safetensors"], ids=["second", "first"]
)
def test_shards(hub, name):
    shards = {f"model-0000{number}-of-00002.safetensors": b"part" for number in (1, 2)}
    index = json.dumps({"weight_map": dict(zip("ab", shards, strict=True))}).encode()
    hub.models["a/shards"] = Repository({**model().files, "model.safetensors.index.json": index, **shards})
    checkpoint = find_checkpoint("hf:a/shards")
    assert set(shards) < set(os.listdir(checkpoint.folder))
    # A download that was interrupted is completed.
    os.remove(os.path.join(checkpoint.folder, name))
    restart()
    assert set(shards) < set(os.listdir(find_checkpoint("hf:a/shards").folder))


@pytest.mark.parametrize("network", ["roberta", "deberta-v2", "t5", "modernbert"])
def test_another_network_is_named_before_its_weights_are_downloaded(hub, network):
    hub.models["a/other"] = model({"model_type": network}, model__safetensors=b"large")
    with raises(InputError, f"hf:a/other: config.json: model_type is '{network}'"):
        find_checkpoint("hf:a/other")
    assert hub.sent == ["config.json"]


@pytest.mark.parametrize(
    ("repository", "message"),
    [
        (model(pytorch_model__bin=b"pickle"), "pytorch_model.bin is a pickle"),
        (model(README__md=b"text"), "has no weights in a format that is read"),
        (Repository({"README.md": b"text"}), "has no config.json"),
        (Repository({"adapter_config.json": b'{"base_model_name_or_path": "a/base"}'}), "adapter of peft for a/base"),
        (Repository(model().files, (403, "GatedRepo")), "is gated"),
        (Repository(model().files, (400, "Broken")), "answers with an error"),
        (None, "has no model a/b"),
    ],
    ids=["pickle", "no weights", "no model", "adapter", "gated", "broken", "unknown"],
)
def test_a_model_that_cannot_be_used_is_one_clear_line(hub, repository, message):
    if repository:
        hub.models["a/b"] = repository
    with raises(InputError, message) as error:
        find_checkpoint("hf:a/b", "from")
    assert not any(name.endswith((".bin", ".safetensors")) for name in hub.sent)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "name", ["hf:", "hf:a/b/c", "hf:a b", "hf:a/b@", "hf://a/b", "hf:a/b@v1@v2", "hf:../b", "hf:a--b"]
)
def test_a_name_of_another_form(hub, name):
    with raises(InputError, name):
        find_checkpoint(name)
