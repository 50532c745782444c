"""A run's directory: files that a run may change, its list of files, and refusals."""

import json
import os
import pathlib

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.resuming import find_checkpoint_to_resume
from bert_cli.weights.formats.checkpoint_writer import write_tf1
from tests.snapshots import raises

FOREIGN = "mine"
TASK_FILES = ("test_results.tsv", "predictions.tsv")


@pytest.fixture
def manifest(tiny_config) -> dict:
    return {"labels": ["0", "1"], "config": {"vocab_size": 23}, "vocabulary": "0" * 16, "random_seed": 1}


@pytest.fixture
def start(tmp_path, manifest, tiny_config):
    """start(*names) begins a run in tmp_path/run, as a command does, with these task files."""

    def call(*names, overwrite=False):
        directory = RunDirectory(str(tmp_path / "run"))
        assert find_checkpoint_to_resume(directory, manifest, overwrite, None, names) is None
        directory.begin(manifest, ("0", "1"), tiny_config(), {"vocab.txt": b"[UNK]\n"}, {"random_seed": 1}, names)
        return tmp_path / "run"

    return call


def read_files(folder: pathlib.Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


REFUSED_NAMES = [
    "flags.txt", "eval_results.txt", "run_report.json", "test_results.tsv", "predictions.tsv", "checkpoint",
    "model.ckpt-77.index", "model.ckpt-77.data-00000-of-00001", "vocab.txt", "labels.txt", "bert_config.json",
]  # fmt: skip


def test_listed_files_in_subdirectories_are_removed(start):
    """A new run removes listed files, and their directory if it is empty."""
    names = ("found/a.ann", "found/b.ann")
    folder = start(*names)
    assert json.loads((folder / "run.json").read_text())["files"][-2:] == list(names)
    for foreign_names in (["notes.txt"], []):
        (folder / "found").mkdir(exist_ok=True)
        for name in ("a.ann", "notes.txt"):
            (folder / "found" / name).write_text(FOREIGN)
        if not foreign_names:
            (folder / "found" / "notes.txt").unlink()
        RunDirectory(str(folder)).owned.drop_unwritten()
        assert json.loads((folder / "run.json").read_text())["files"][-1] == "found/a.ann"
        RunDirectory(str(folder))._clear()
        assert [path.name for path in folder.rglob("*") if path.is_file()] == foreign_names
        start(*names)
    assert not (folder / "found").exists()


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", REFUSED_NAMES)
def test_files_that_would_be_replaced_are_refused_without_manifest(start, tmp_path, name, overwrite):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / name).write_text(FOREIGN)
    with pytest.raises(InputError, match=rf"{name.partition('.')[0]}.*use another --output_dir"):
        start(*TASK_FILES, overwrite=overwrite)
    assert read_files(folder) == {name: FOREIGN}


def test_other_files_without_manifest_stay(start, tmp_path):
    foreign_names = [
        "predictions.json",
        "null_odds.json",
        "model.ckpt-77.meta",
        ".writing-abc12_3x",
        ".writing-x",
        "notes.txt",
    ]
    folder = tmp_path / "run"
    folder.mkdir()
    for name in foreign_names:
        (folder / name).write_text(FOREIGN)
    start(*TASK_FILES)
    assert {name: text for name, text in read_files(folder).items() if text == FOREIGN} == dict.fromkeys(
        foreign_names, FOREIGN
    )


def test_a_new_run_removes_the_files_in_the_manifest(start, tmp_path):
    folder = start(*TASK_FILES)
    listed = json.loads((folder / "run.json").read_text())["files"]
    companions = ["run.json", "checkpoint", "bert_config.json", "flags.txt", "eval_results.txt", "run_report.json"]
    assert listed == [*companions, "labels.txt", "vocab.txt", *TASK_FILES]
    our_names = ["model.ckpt-3.index", "model.ckpt-3.data-00000-of-00001", "test_results.tsv", ".writing-abc12_3x"]
    foreign_names = [
        "predictions.json",
        "model.ckpt-3.meta",
        "model.ckpt-best.index",
        ".writing-x",
        ".writing-mine.txt",
    ]
    for name in our_names + foreign_names:
        (folder / name).write_text(FOREIGN)
    half = folder / ".writing-zyxw9_87"
    half.mkdir()
    (half / "model.ckpt-4.data-00000-of-00001.tempstate123").write_text("")
    not_ours = folder / ".writing-zyxw9_88"
    not_ours.mkdir()
    (not_ours / "novel.txt").write_text(FOREIGN)
    start(*TASK_FILES, overwrite=True)
    assert {name for name, text in read_files(folder).items() if text == FOREIGN} == set(foreign_names)
    assert not half.exists()
    assert (not_ours / "novel.txt").exists()


def test_files_of_another_task_are_not_owned(start):
    folder = start(*TASK_FILES)
    (folder / "predictions.json").write_text(FOREIGN)
    with raises(InputError, "predictions.json: "):
        start("predictions.json", overwrite=True)
    assert read_files(folder)["predictions.json"] == FOREIGN


def test_a_damaged_manifest_owns_the_usual_files(start, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text("{")
    names = ["labels.txt", "vocab.txt", "predictions.json", "null_odds.json", "test_predictions.jsonl", "checkpoint"]
    for name in [*names, "notes.txt"]:
        (folder / name).write_text(FOREIGN)
    start(*TASK_FILES, overwrite=True)
    assert {name for name, text in read_files(folder).items() if text == FOREIGN} == {"notes.txt"}


def test_a_manifest_of_another_program_is_refused(start, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text('{"job": 7}')
    with raises(InputError, "run.json: "):
        start(*TASK_FILES, overwrite=True)


def test_names_outside_the_directory_are_never_removed(start, tmp_path):
    folder = start(*TASK_FILES)
    (tmp_path / "other.txt").write_text(FOREIGN)
    values = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(values | {"files": ["../other.txt", str(tmp_path / "other.txt"), 7]}))
    for name in (*TASK_FILES, "labels.txt", "vocab.txt", "bert_config.json", "flags.txt"):
        (folder / name).unlink(missing_ok=True)
    start(*TASK_FILES, overwrite=True)
    assert (tmp_path / "other.txt").read_text() == FOREIGN


def test_a_run_resumes_without_the_list_of_files(start, manifest):
    folder = start(*TASK_FILES)
    write_tf1(str(folder / "model.ckpt-3"), {"x": np.zeros(1, np.float32)})
    prefix = str(folder / "model.ckpt-3")
    assert find_checkpoint_to_resume(RunDirectory(str(folder)), manifest, False, None, TASK_FILES) == prefix
    values = json.loads((folder / "run.json").read_text())
    del values["files"]
    (folder / "run.json").write_text(json.dumps(values))
    assert find_checkpoint_to_resume(RunDirectory(str(folder)), manifest, False, None, TASK_FILES) == prefix


def test_deep_and_long_manifests_are_one_line(start, manifest):
    folder = start()
    write_tf1(str(folder / "model.ckpt-3"), {"x": np.zeros(1, np.float32)})
    for text in ("[" * 200_000, '{"config": ' + "1" * 5000 + "}"):
        (folder / "run.json").write_text(text)
        with raises(InputError, "run.json:1: "):
            find_checkpoint_to_resume(RunDirectory(str(folder)), manifest, False, None)


def test_a_run_without_training_replaces_only_its_own_files(tmp_path):
    """The first run lists its files in the report, so the second may replace them, but no others."""
    directory = RunDirectory(str(tmp_path))
    directory.owned.check_results(TASK_FILES)
    (tmp_path / "test_results.tsv").write_text("ours")
    directory.write_report({"total_seconds": 1.0}, TASK_FILES)
    assert json.loads((tmp_path / "run_report.json").read_text())["files"] == ["test_results.tsv"]
    directory.owned.check_results(TASK_FILES)
    (tmp_path / "predictions.tsv").write_text(FOREIGN)
    with raises(InputError, "predictions.tsv: "):
        directory.owned.check_results(TASK_FILES)
    directory.owned.check_results(("test_results.tsv",))
    directory.write_report({"total_seconds": 2.0}, ("test_results.tsv",))
    assert json.loads((tmp_path / "run_report.json").read_text())["files"] == ["test_results.tsv"]


def test_the_report_does_not_list_files_in_the_manifest(start):
    folder = start(*TASK_FILES)
    (folder / "test_results.tsv").write_text("ours")
    RunDirectory(str(folder)).owned.check_results(TASK_FILES)
    RunDirectory(str(folder)).write_report({"total_seconds": 1.0}, TASK_FILES)
    assert json.loads((folder / "run_report.json").read_text()) == {"total_seconds": 1.0}


@pytest.mark.parametrize("report", ["mine", "[]", '{"a": 1}'])
def test_a_report_of_another_program_is_refused(tmp_path, report):
    (tmp_path / "run_report.json").write_text(report)
    with raises(InputError, "run_report.json: "):
        RunDirectory(str(tmp_path)).owned.check_results(())


def test_a_directory_with_the_name_of_a_file_is_refused(start):
    folder = start(*TASK_FILES)
    (folder / "eval_results.txt").mkdir()
    with raises(InputError, "eval_results.txt: "):
        RunDirectory(str(folder)).owned.check_results(("eval_results.txt",))


def test_leftovers_in_a_directory_without_run_stay(tmp_path):
    (tmp_path / ".writing-abc12_3x").write_text(FOREIGN)
    RunDirectory(str(tmp_path)).owned.remove_leftovers()
    assert (tmp_path / ".writing-abc12_3x").exists()


def test_a_failed_removal_is_one_line(start, monkeypatch):
    """Permissions do not stop root, so replace os.remove for a read-only directory."""
    start(*TASK_FILES)

    def refuse(path, **_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "remove", refuse)
    with raises(InputError):
        start(*TASK_FILES, overwrite=True)


def test_a_run_of_another_command_is_refused_in_one_clause(start, manifest, tmp_path):
    folder = start(*TASK_FILES)
    write_tf1(str(folder / "model.ckpt-7"), {"x": np.zeros(1, np.float32)})
    values = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(values | {"command": "bert-tag"}))
    with raises(InputError, f"{folder}: "):
        find_checkpoint_to_resume(
            RunDirectory(str(folder)), manifest | {"command": "bert-squad", "random_seed": 7}, False, None, TASK_FILES
        )


def test_tokenizer_settings_are_written_and_owned(tmp_path, manifest, tiny_config):
    manifest |= {"tokenizer": {"strip_accents": False}}
    files = {"vocab.txt": b"[UNK]\n", "tokenizer_config.json": b"{}\n"}
    folder = tmp_path / "run"
    RunDirectory(str(folder)).begin(manifest, None, tiny_config(), files, {})
    assert {name: (folder / name).read_bytes() for name in files} == files
    assert "tokenizer_config.json" in json.loads((folder / "run.json").read_text())["files"]
    RunDirectory(str(folder))._clear()
    assert list(folder.iterdir()) == []
