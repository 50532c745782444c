"""The directory best/: copied files, checkpoints to keep, and removal of our files only."""

import json

import pytest

from bert_cli.run_directory.directory import RunDirectory
from bert_cli.weights.path import model_folder

ENDINGS = ("index", "data-00000-of-00001")


@pytest.fixture
def run(tmp_path):
    (tmp_path / "run.json").write_text('{"config": {}, "files": ["flags.txt"], "steps": 3}')
    (tmp_path / "flags.txt").write_text("--x=1\n")
    RunDirectory(str(tmp_path)).best.prepare()
    for step in (1, 2):
        for ending in ENDINGS:
            (tmp_path / "best" / f"model.ckpt-{step}.{ending}").write_text("x")
    return tmp_path


def names(folder) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_best_is_a_model_directory(run):
    manifest = json.loads((run / "best" / "run.json").read_text())
    assert manifest == {"config": {}, "steps": 3, "files": ["run.json", "checkpoint", "flags.txt"]}
    assert (run / "best" / "flags.txt").read_text() == "--x=1\n"


def test_checkpoints_at_other_steps_are_removed(run):
    RunDirectory(str(run)).best.keep_steps([2])
    assert {name for name in names(run / "best") if "ckpt" in name} == {f"model.ckpt-2.{ending}" for ending in ENDINGS}


def test_best_json_and_the_state_file_name_the_checkpoint(run):
    RunDirectory(str(run)).best.name_step(2)
    assert (run / "best" / "checkpoint").read_text().splitlines() == [
        'model_checkpoint_path: "model.ckpt-2"',
        'all_model_checkpoint_paths: "model.ckpt-2"',
    ]
    RunDirectory(str(run)).best.write_choice({"step": 2})
    assert json.loads((run / "best.json").read_text()) == {"folder": "best", "step": 2}
    assert model_folder(str(run)) == str(run / "best")


def test_all_our_files_are_removed(run):
    RunDirectory(str(run)).best.write_choice({})
    RunDirectory(str(run)).best.name_step(2)
    RunDirectory(str(run)).best.remove()
    assert names(run) == {"run.json", "flags.txt"}


def test_other_files_stay(run):
    (run / "best" / "notes.txt").write_text("mine")
    RunDirectory(str(run)).best.remove()
    assert names(run / "best") == {"notes.txt"}
    RunDirectory(str(run)).best.remove()  # the directory is no longer ours
    assert names(run / "best") == {"notes.txt"}
