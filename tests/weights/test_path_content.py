"""A checkpoint is recognized by its weights, wherever it is."""

import os
import shutil

import pytest

from bert_cli.weights.path import content_digest, find_checkpoint

TF1 = ("model.ckpt-4.index", "model.ckpt-4.data-00000-of-00001")
MODULE = ("saved_model.pb", "variables/variables.index")


def make(folder, names, content=b"weights"):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def digest_of(path):
    return content_digest(find_checkpoint(str(path)))


@pytest.mark.parametrize("names", [TF1, MODULE, ("model.safetensors", "config.json"), ("m.weights.h5",)])
def test_equal_weights_have_equal_digests(names, tmp_path):
    model = make(tmp_path / "model", names)
    digest = digest_of(model)
    assert len(digest) == 16
    assert digest_of(shutil.copytree(model, tmp_path / "copy")) == digest
    assert digest_of(make(tmp_path / "changed", names, b"Weights")) != digest
    assert digest_of(model.rename(tmp_path / "renamed")) == digest


def test_a_file_that_changes_gets_another_digest(tmp_path):
    model = make(tmp_path / "model", TF1)
    before = digest_of(model)
    make(model, TF1, b"changed")
    os.utime(model / TF1[0], ns=(1, 1))
    assert digest_of(model) != before


def test_shards_have_no_digest(tmp_path):
    """Their index has names and no checksums."""
    names = ("model.safetensors.index.json", "config.json")
    assert digest_of(make(tmp_path / "shards", names, b"{}")) is None
