"""The directory of several runs: its manifest, refusals, and files of earlier runs."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.run_directory.directory import RunDirectory
from tests.snapshots import raises

TABLE = ("runs.tsv", "best.json")


@pytest.fixture
def directory(tmp_path) -> RunDirectory:
    (tmp_path / "sweep").mkdir()
    return RunDirectory(str(tmp_path / "sweep"))


def write(directory, name, text="x") -> None:
    with open(directory.file(name), "w", encoding="utf-8") as file:
        file.write(text)


def begin(directory, command="bert-tag", sweep_type="runs", overwrite=False) -> None:
    directory.check_sweep(command, sweep_type, TABLE, overwrite)
    directory.begin_sweep(command, sweep_type, TABLE, overwrite)


def test_a_sweep_has_a_manifest_with_its_files(directory):
    begin(directory)
    files = ["run.json", "run_report.json", *TABLE]
    assert directory.manifest == {"command": "bert-tag", "several": "runs", "config": {}, "files": files}
    write(directory, "runs.tsv")
    begin(directory)  # the same sweep continues
    assert directory.manifest["files"] == files
    with open(directory.file("runs.tsv"), encoding="utf-8") as file:
        assert file.read() == "x"


@pytest.mark.parametrize("other", [{"command": "bert-squad"}, {"sweep_type": "grid"}])
def test_another_sweep_is_refused_or_removed(directory, other):
    begin(directory)
    write(directory, "runs.tsv")
    write(directory, "notes.txt")
    with raises(InputError, "sweep: "):
        begin(directory, **other)
    begin(directory, **other, overwrite=True)
    assert directory.manifest["overwriting"]
    assert directory.owned.removable_names() == ["run.json"]
    begin(directory, **other)
    with open(directory.file("notes.txt"), encoding="utf-8") as file:
        assert file.read() == "x"


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", ["vocab.txt", "model.ckpt-3.index", "runs.tsv"])
def test_files_of_other_programs_are_refused(directory, name, overwrite):
    write(directory, name)
    with raises(InputError):
        begin(directory, overwrite=overwrite)
    assert directory.owned.names() == set()


def test_an_interrupted_overwriting_run_is_recognized(directory):
    assert not directory.is_interrupted_overwriting
    begin(directory)
    assert not directory.is_interrupted_overwriting
    begin(directory, overwrite=True)
    assert directory.is_interrupted_overwriting
    directory.write_report({"total_seconds": 1.0})
    assert not directory.is_interrupted_overwriting
    assert directory.report == {"total_seconds": 1.0}


def test_update_manifest_adds_files(directory):
    write(directory, "run.json", json.dumps({"config": {}, "steps": 3, "files": ["flags.txt"]}))
    directory.update_manifest({"config": {}, "steps": 5}, ("predictions.tsv",))
    manifest = directory.manifest
    assert manifest["steps"] == 5
    assert manifest["files"][0] == "flags.txt"
    assert manifest["files"][-1] == "predictions.tsv"
    assert len(set(manifest["files"])) == len(manifest["files"])
