"""Choice of the checkpoint that a training starts from, or that a command uses."""

import json
import logging

import pytest

from bert_cli.base.errors import InputError
from bert_cli.opening import paths
from bert_cli.opening.checkpoints import checkpoint_to_start_from, model_to_use
from bert_cli.settings.groups import HubEncoder, ModelFiles
from bert_cli.weights import training_folder
from tests.snapshots import check_message, raises


@pytest.fixture(autouse=True)
def no_builtin_model(monkeypatch, tmp_path):
    """Act as if the weights of the built-in model were not installed."""
    monkeypatch.setattr(paths, "PRETRAINED", str(tmp_path / "nothing"))


@pytest.fixture
def run(tmp_path):
    """A run's directory with two checkpoints; their contents do not matter here."""
    return make_run(tmp_path / "run", 2, 4)


def make_run(folder, *steps):
    folder.mkdir(parents=True)
    for step in steps:
        for ending in ("index", "data-00000-of-00001"):
            (folder / f"model.ckpt-{step}.{ending}").write_bytes(b"x")
    return folder


def model(path="", **values):
    return ModelFiles(init_checkpoint=str(path), **values)


def test_training_starts_from_the_named_checkpoint(run):
    assert checkpoint_to_start_from(model(run / "model.ckpt-2"), HubEncoder()).location == str(run / "model.ckpt-2")
    assert checkpoint_to_start_from(model(run), HubEncoder()).location == str(run / "model.ckpt-4")


@pytest.mark.parametrize("values", [{}, {"vocab_file": "vocab.txt"}, {"bert_config_file": "c.json"}])
def test_training_starts_from_random_weights(values):
    assert checkpoint_to_start_from(model(**values), HubEncoder()) is None
    assert checkpoint_to_start_from(model("random", **values), HubEncoder()) is None


def test_training_starts_from_a_module(tmp_path):
    with raises(InputError, "module: "):
        checkpoint_to_start_from(model("random"), HubEncoder(hub_module=str(tmp_path / "module")))


def test_the_newest_checkpoint_of_a_run_is_used(run, caplog):
    caplog.set_level(logging.INFO)
    assert model_to_use(model(), output_dir=str(run)).find().location == str(run / "model.ckpt-4")
    assert model_to_use(model(), output_dir=str(run)).folder == str(run)
    assert caplog.messages == []


def test_the_best_checkpoint_of_a_run_is_used(run, caplog):
    caplog.set_level(logging.INFO)
    best = make_run(run / "best", 2)
    (run / "best.json").write_text(json.dumps({"folder": "best"}))
    assert model_to_use(model(), output_dir=str(run)).find().location == str(best / "model.ckpt-2")
    check_message(caplog)
    assert model_to_use(model(), output_dir=str(run)).folder == str(best)


def test_a_named_checkpoint_of_the_run_is_used_as_given(run, tmp_path, caplog):
    (tmp_path / "link").symlink_to(run)
    named = model(tmp_path / "link" / "model.ckpt-2")
    assert model_to_use(named, output_dir=str(run)).find().location == str(tmp_path / "link" / "model.ckpt-2")
    assert model_to_use(named, output_dir=str(run)).folder == str(tmp_path / "link")
    assert caplog.messages == []


def test_a_named_checkpoint_comes_before_the_run_in_output_dir(run, tmp_path, caplog):
    named_run = make_run(tmp_path / "named_run", 9)
    assert model_to_use(model(named_run), HubEncoder(hub_module="module"), str(run)).find().location == str(
        named_run / "model.ckpt-9"
    )
    assert model_to_use(model(named_run), output_dir=str(run)).folder == str(named_run)
    assert caplog.messages == []


def test_a_named_checkpoint_is_used_without_a_trained_one(run, tmp_path):
    for output_dir in ("", str(tmp_path / "empty")):
        assert model_to_use(model(run), output_dir=output_dir).find().location == str(run / "model.ckpt-4")
        assert model_to_use(model(run), output_dir=output_dir).folder == str(run)


def test_without_a_checkpoint_the_flags_are_named(run, tmp_path):
    with raises(InputError, "empty: "):
        model_to_use(model("random"), output_dir=str(tmp_path / "empty")).find()
    with raises(InputError, "--init_checkpoint=random"):
        model_to_use(model("random")).find()
    with raises(InputError, "--init_checkpoint"):
        model_to_use(model()).find()
    assert model_to_use(model(), default=str(run)).find().location == str(run / "model.ckpt-4")


def test_the_weights_are_checked_once(run, tmp_path, monkeypatch):
    """The directory is needed before the checkpoint, and does not depend on damage."""
    checked = []
    monkeypatch.setattr(training_folder, "check_data", lambda prefix, should_check: checked.append(prefix))
    for output_dir in ("", str(tmp_path / "empty")):
        checked.clear()
        assert model_to_use(model(run), output_dir=output_dir).folder == str(run)
        assert checked == []
        model_to_use(model(run), output_dir=output_dir).find()
        assert checked == [str(run / "model.ckpt-4")]
