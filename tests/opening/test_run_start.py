"""A named model is compared with the model that a run started from, in any spelling of its path."""

import json
import shutil

import pytest

from bert_cli.base.names import BUILTIN_MODEL
from bert_cli.opening import run_start
from bert_cli.opening.run_start import RunStart
from bert_cli.run_directory.manifest import model_manifest
from bert_cli.weights.path import find_checkpoint
from tests.opening.test_checkpoints import make_run
from tests.rows import write_rows


@pytest.fixture
def start(tmp_path):
    """A run's directory with two checkpoints; their contents do not matter here."""
    return make_run(tmp_path / "work" / "start", 2, 4)


@pytest.fixture
def run_from(tmp_path):
    """Make a run's directory that started from a model."""

    def make(name, flag=None):
        folder = tmp_path / "work" / "run"
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps({"config": {}, "init_checkpoint": name and str(name)}))
        lines = [f"--output_dir={folder}", *([f"--init_checkpoint={flag}"] if flag else [])]
        write_rows(folder / "flags.txt", lines)
        return folder

    return make


def is_start(folder, path):
    return RunStart(str(folder)).is_checkpoint(str(path), find_checkpoint(str(path)))


def test_other_spellings_of_the_start(start, run_from, tmp_path, monkeypatch):
    folder = run_from(start / "model.ckpt-4")
    (tmp_path / "link").symlink_to(tmp_path / "work")
    monkeypatch.chdir(tmp_path)
    for path in (
        "work/start/model.ckpt-4",
        "work/start",
        "work/start/",
        "work/../link/start/model.ckpt-4.index",
        start,
    ):
        assert is_start(folder, path), path
    assert not is_start(folder, "work/start/model.ckpt-2")


def test_a_directory_is_the_start_although_its_run_was_continued(start, run_from):
    folder = run_from(start / "model.ckpt-2", flag=start)
    assert is_start(folder, start)
    assert not is_start(folder, start / "model.ckpt-4")


def test_a_linked_checkpoint_file(start, run_from, tmp_path):
    for ending in ("index", "data-00000-of-00001"):
        (tmp_path / f"base.ckpt.{ending}").symlink_to(start / f"model.ckpt-4.{ending}")
    assert is_start(run_from(start / "model.ckpt-4"), tmp_path / "base.ckpt")


@pytest.mark.parametrize("moved", ["work", "work/start"])
def test_a_start_that_was_moved(moved, start, run_from, tmp_path):
    """The whole tree was moved, or the start alone with its name."""
    run_from(start / "model.ckpt-4")
    (tmp_path / "there").mkdir()
    shutil.move(tmp_path / moved, tmp_path / "there")
    folder = next(tmp_path.rglob("run.json")).parent
    path = next(tmp_path.rglob("start"))
    assert is_start(folder, path / "model.ckpt-4")
    assert not is_start(folder, path / "model.ckpt-2")


def test_a_start_that_was_renamed_or_copied(start, run_from, tmp_path, tiny_config):
    """Its weights are recognized by their digest."""
    folder = run_from(start / "model.ckpt-4")
    manifest = model_manifest(tiny_config(), None, {}, find_checkpoint(str(start)))
    (folder / "run.json").write_text(json.dumps(manifest))
    shutil.copytree(start, tmp_path / "copy")
    start.rename(tmp_path / "renamed")
    assert is_start(folder, tmp_path / "copy")
    assert is_start(folder, tmp_path / "renamed" / "model.ckpt-4")
    (tmp_path / "copy" / "model.ckpt-4.index").write_bytes(b"other weights")
    assert not is_start(folder, tmp_path / "copy")


def test_a_run_that_was_moved(start, run_from, tmp_path):
    folder = run_from(start / "model.ckpt-4").rename(tmp_path / "moved")
    assert is_start(folder, start)


def test_another_model_in_a_directory_with_the_same_name(start, run_from, tmp_path):
    folder = run_from(start / "model.ckpt-4")
    assert not is_start(folder, make_run(tmp_path / "start", 4))


def test_the_built_in_model(start, run_from, tmp_path, monkeypatch):
    folder = run_from(BUILTIN_MODEL)
    builtin = tmp_path / "pretrained"
    builtin.mkdir()
    for name in ("model.safetensors", "bert_config.json"):
        (builtin / name).write_bytes(b"x")
    monkeypatch.setattr(run_start, "PRETRAINED", str(builtin))
    assert is_start(folder, builtin / "model.safetensors")
    assert not is_start(folder, start)


def test_random_weights_and_unknown_starts(start, run_from, tmp_path):
    folder = run_from(None)
    assert RunStart(str(folder)).is_random()
    assert not is_start(folder, start)
    unknown = RunStart(str(tmp_path))
    assert (unknown.is_random(), unknown.description) == (False, "an unknown model")
    assert not is_start(tmp_path, start)


@pytest.mark.parametrize(
    ("name", "handle", "expected"),
    [
        ("https://hub/bert/4", "https://hub/bert/4/", True),
        ("https://hub/bert/4", "https://hub/bert/3", False),
        ("{work}/module", "{work}/../work/module/", True),
        ("{work}/module.tar.gz", "{work}/module", False),
    ],
)
def test_modules(name, handle, expected, run_from, tmp_path):
    name, handle = (text.format(work=tmp_path / "work") for text in (name, handle))
    assert RunStart(str(run_from(name))).is_module(handle) == expected


def test_a_module_below_the_named_directory(run_from, tmp_path):
    """bert-export writes modules/encoder, and --init_checkpoint=modules finds it."""
    encoder = tmp_path / "work" / "modules" / "encoder"
    (encoder / "variables").mkdir(parents=True)
    (encoder / "saved_model.pb").write_bytes(b"x")
    start = RunStart(str(run_from(encoder)))
    assert start.is_module(str(encoder.parent))
    assert start.is_checkpoint(str(encoder.parent), find_checkpoint(str(encoder.parent)))
