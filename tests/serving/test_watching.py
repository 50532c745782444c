"""Newer checkpoints replace served models."""

import contextlib
import pathlib

import pytest

from bert_cli.serving import watching
from bert_cli.serving.service import Service
from bert_cli.serving.watching import Watcher
from bert_cli.settings.serving import Limits
from bert_cli.weights.path import TF1, CheckpointPath, find_checkpoint
from tests.serving.test_served_model import FLAGS, LengthModel, length_model


@pytest.fixture
def service():
    service = Service({"lengths": length_model()}, Limits())
    with contextlib.closing(service.batcher):
        yield service


def test_the_generator_of_a_newer_electra_is_loaded(service, tmp_path, monkeypatch):
    (tmp_path / "model.ckpt-40.index").touch()
    monkeypatch.setattr(watching, "load_served", LengthModel)
    watcher = Watcher(service, {}, {"lengths": FLAGS}, keys=None, certificate=None, seconds=None)
    watcher.update("lengths", f"{tmp_path}/model.ckpt-40/generator")
    watcher.close()
    expected = CheckpointPath(TF1, f"{tmp_path}/model.ckpt-40", network="generator")
    checkpoint = service.models["lengths"].checkpoint
    assert (checkpoint, checkpoint.opened) == (expected, None)


@pytest.mark.parametrize("flag", ["model", "ensemble"])
def test_an_error_names_the_flag_of_the_directory(service, tmp_path, caplog, flag):
    flags = {str(tmp_path): flag}
    watcher = Watcher(service, {}, {"lengths": FLAGS}, keys=None, certificate=None, seconds=None, folder_flags=flags)
    watcher.update("lengths", str(tmp_path))
    watcher.close()
    [error] = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert f"--{flag}" in error
    assert "--output_dir" not in error


def test_a_newer_checkpoint_of_a_member_replaces_the_ensemble(tmp_path, monkeypatch):
    paths = [str(tmp_path / f"model.ckpt-{step}") for step in (10, 20, 30)]
    for path in paths:
        pathlib.Path(f"{path}.index").touch()
    model = LengthModel("lengths", FLAGS, *map(find_checkpoint, paths[:2]))
    service = Service({"lengths": model}, Limits())
    monkeypatch.setattr(watching, "load_served", LengthModel)
    with contextlib.closing(service.batcher):
        watcher = Watcher(service, {}, {"lengths": FLAGS}, keys=None, certificate=None, seconds=None)
        watcher.update("lengths", *paths[:2], is_reload=True)
        assert service.models["lengths"] is model
        watcher.update("lengths", paths[0], paths[2])
        watcher.close()
    locations = [checkpoint.location for checkpoint in service.models["lengths"].checkpoints]
    assert locations == [paths[0], paths[2]]
