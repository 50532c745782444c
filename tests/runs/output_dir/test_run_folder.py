"""A run's folder: which files a run may touch, what it lists as its own, and what it refuses by name."""

import json
import os
import pathlib

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.runs.output_dir.run_folder import (
    begin,
    check_results,
    clear,
    drop_unwritten,
    find_state,
    remove_leftovers,
    write_report,
)
from bert_cli.weights.checkpoint import write_tf1

MINE = "mine"
TASK = ("test_results.tsv", "predictions.tsv")


@pytest.fixture
def manifest(tiny_config) -> dict:
    return {"labels": ["0", "1"], "config": {"vocab_size": 23}, "vocabulary": "0" * 16, "random_seed": 1}


@pytest.fixture
def start(tmp_path, manifest, tiny_config):
    """start(names of the task) begins a run in tmp_path/run, as a command does."""

    def call(*names, overwrite=False):
        folder = str(tmp_path / "run")
        assert find_state(folder, manifest, overwrite, None, names) is None
        begin(folder, manifest, ("0", "1"), tiny_config(), {"vocab.txt": b"[UNK]\n"}, {"random_seed": 1}, names)
        return tmp_path / "run"

    return call


def contents(folder: pathlib.Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


OTHERS = [
    "flags.txt", "eval_results.txt", "run_report.json", "test_results.tsv", "predictions.tsv", "checkpoint",
    "model.ckpt-77.index", "model.ckpt-77.data-00000-of-00001", "vocab.txt", "labels.txt", "bert_config.json",
]  # fmt: skip


def test_files_in_a_folder_of_the_run(start):
    """A new run removes those that a run has listed, and the folder where nothing else is in it."""
    names = ("found/a.ann", "found/b.ann")
    folder = start(*names)
    assert json.loads((folder / "run.json").read_text())["files"][-2:] == list(names)
    for others in (["notes.txt"], []):
        (folder / "found").mkdir(exist_ok=True)
        for name in ("a.ann", "notes.txt"):
            (folder / "found" / name).write_text(MINE)
        if not others:
            (folder / "found" / "notes.txt").unlink()
        drop_unwritten(str(folder))
        assert json.loads((folder / "run.json").read_text())["files"][-1] == "found/a.ann"
        clear(str(folder))
        assert [path.name for path in folder.rglob("*") if path.is_file()] == others
        start(*names)
    assert not (folder / "found").exists()


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", OTHERS)
def test_a_folder_without_manifest_that_holds_what_would_be_written(start, tmp_path, name, overwrite):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / name).write_text(MINE)
    with pytest.raises(InputError, match=rf"{name.partition('.')[0]}.*use another --output_dir"):
        start(*TASK, overwrite=overwrite)
    assert contents(folder) == {name: MINE}


def test_all_else_in_a_folder_without_manifest_is_left_alone(start, tmp_path):
    others = [
        "predictions.json",
        "null_odds.json",
        "model.ckpt-77.meta",
        ".writing-abc12_3x",
        ".writing-x",
        "notes.txt",
    ]
    folder = tmp_path / "run"
    folder.mkdir()
    for name in others:
        (folder / name).write_text(MINE)
    start(*TASK)
    assert {name: text for name, text in contents(folder).items() if text == MINE} == dict.fromkeys(others, MINE)


def test_the_manifest_lists_what_the_run_owns_and_that_is_what_goes(start, tmp_path):
    folder = start(*TASK)
    listed = json.loads((folder / "run.json").read_text())["files"]
    companions = ["run.json", "checkpoint", "bert_config.json", "flags.txt", "eval_results.txt", "run_report.json"]
    assert listed == [*companions, "labels.txt", "vocab.txt", *TASK]
    ours = ["model.ckpt-3.index", "model.ckpt-3.data-00000-of-00001", "test_results.tsv", ".writing-abc12_3x"]
    others = ["predictions.json", "model.ckpt-3.meta", "model.ckpt-best.index", ".writing-x", ".writing-mine.txt"]
    for name in ours + others:
        (folder / name).write_text(MINE)
    half = folder / ".writing-zyxw9_87"
    half.mkdir()
    (half / "model.ckpt-4.data-00000-of-00001.tempstate123").write_text("")
    not_ours = folder / ".writing-zyxw9_88"
    not_ours.mkdir()
    (not_ours / "novel.txt").write_text(MINE)
    start(*TASK, overwrite=True)
    assert {name for name, text in contents(folder).items() if text == MINE} == set(others)
    assert not half.exists()
    assert (not_ours / "novel.txt").exists()


def test_what_another_task_would_write_is_not_its_own(start):
    folder = start(*TASK)
    (folder / "predictions.json").write_text(MINE)
    with pytest.raises(InputError, match=r"predictions\.json: would be written over, but no run of ours"):
        start("predictions.json", overwrite=True)
    assert contents(folder)["predictions.json"] == MINE


@pytest.mark.parametrize("old", ['{"config": {}, "random_seed": 2}', "{"])
def test_an_older_manifest_owns_all_that_older_runs_wrote(start, tmp_path, old):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text(old)
    names = ["labels.txt", "vocab.txt", "predictions.json", "null_odds.json", "test_predictions.jsonl", "checkpoint"]
    for name in [*names, "notes.txt"]:
        (folder / name).write_text(MINE)
    start(*TASK, overwrite=True)
    assert {name for name, text in contents(folder).items() if text == MINE} == {"notes.txt"}


def test_a_manifest_of_another_program(start, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text('{"job": 7}')
    with pytest.raises(InputError, match=r"run\.json: would be written over"):
        start(*TASK, overwrite=True)


def test_names_that_lead_out_of_the_folder_are_never_removed(start, tmp_path):
    folder = start(*TASK)
    (tmp_path / "other.txt").write_text(MINE)
    values = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(values | {"files": ["../other.txt", str(tmp_path / "other.txt"), 7]}))
    for name in (*TASK, "labels.txt", "vocab.txt", "bert_config.json", "flags.txt"):
        (folder / name).unlink(missing_ok=True)
    start(*TASK, overwrite=True)
    assert (tmp_path / "other.txt").read_text() == MINE


def test_the_list_decides_nothing_about_going_on(start, manifest):
    folder = start(*TASK)
    write_tf1(str(folder / "model.ckpt-3"), {"x": np.zeros(1, np.float32)})
    prefix = str(folder / "model.ckpt-3")
    assert find_state(str(folder), manifest, False, None, TASK) == prefix
    values = json.loads((folder / "run.json").read_text())
    del values["files"]
    (folder / "run.json").write_text(json.dumps(values))
    assert find_state(str(folder), manifest, False, None, TASK) == prefix


def test_a_run_from_before_a_flag_had_its_default(start, manifest):
    """A new flag that decides a result leaves the runs that are there what they were."""
    folder = start(*TASK)
    write_tf1(str(folder / "model.ckpt-3"), {"x": np.zeros(1, np.float32)})
    found = find_state(str(folder), manifest | {"new_flag": 0.5}, False, None, TASK, {"new_flag": 0.5})
    assert found == str(folder / "model.ckpt-3")
    with pytest.raises(InputError, match=r"holds another run: new_flag was 0\.5, is now 0\.7"):
        find_state(str(folder), manifest | {"new_flag": 0.7}, False, None, TASK, {"new_flag": 0.5})


def test_deep_and_long_manifests_are_one_line(start, manifest):
    folder = start()
    write_tf1(str(folder / "model.ckpt-3"), {"x": np.zeros(1, np.float32)})
    for text in ("[" * 200_000, '{"config": ' + "1" * 5000 + "}"):
        (folder / "run.json").write_text(text)
        with pytest.raises(
            InputError, match=r"run\.json:1: cannot be read as JSON: .*; --overwrite_output_dir starts over"
        ):
            find_state(str(folder), manifest, False, None)


def test_results_of_a_run_that_does_not_train(tmp_path):
    """The first run lists its files in the report, so the second may write over them, and over nothing else."""
    folder = str(tmp_path)
    check_results(folder, TASK)
    (tmp_path / "test_results.tsv").write_text("ours")
    write_report(folder, {"total_seconds": 1.0}, TASK)
    assert json.loads((tmp_path / "run_report.json").read_text())["files"] == ["test_results.tsv"]
    check_results(folder, TASK)
    (tmp_path / "predictions.tsv").write_text(MINE)
    with pytest.raises(InputError, match=r"predictions\.tsv: would be written over"):
        check_results(folder, TASK)
    check_results(folder, ("test_results.tsv",))
    write_report(folder, {"total_seconds": 2.0}, ("test_results.tsv",))
    assert json.loads((tmp_path / "run_report.json").read_text())["files"] == ["test_results.tsv"]


def test_in_the_folder_of_a_training_run_the_report_lists_nothing_twice(start):
    folder = start(*TASK)
    (folder / "test_results.tsv").write_text("ours")
    check_results(str(folder), TASK)
    write_report(str(folder), {"total_seconds": 1.0}, TASK)
    assert json.loads((folder / "run_report.json").read_text()) == {"total_seconds": 1.0}


@pytest.mark.parametrize("report", ["mine", "[]", '{"a": 1}'])
def test_a_report_of_somebody_else(tmp_path, report):
    (tmp_path / "run_report.json").write_text(report)
    with pytest.raises(InputError, match=r"run_report\.json: would be written over"):
        check_results(str(tmp_path), ())


def test_a_folder_in_the_place_of_a_file(start):
    folder = start(*TASK)
    (folder / "eval_results.txt").mkdir()
    with pytest.raises(InputError, match=r"eval_results\.txt: would be written over"):
        check_results(str(folder), ("eval_results.txt",))


def test_leftovers_in_a_folder_that_is_not_ours_stay(tmp_path):
    (tmp_path / ".writing-abc12_3x").write_text(MINE)
    remove_leftovers(str(tmp_path))
    assert (tmp_path / ".writing-abc12_3x").exists()


def test_what_cannot_be_removed_is_one_line(start, monkeypatch):
    """A folder that is read-only, also for root, for whom permissions do not count."""
    start(*TASK)

    def refuse(path, **_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "remove", refuse)
    with pytest.raises(InputError, match=r": cannot be removed: Permission denied$"):
        start(*TASK, overwrite=True)


def test_a_run_of_another_command_is_told_in_one_clause(start, manifest, tmp_path):
    folder = start(*TASK)
    write_tf1(str(folder / "model.ckpt-7"), {"x": np.zeros(1, np.float32)})
    values = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(values | {"command": "bert-tag"}))
    with pytest.raises(InputError) as caught:
        find_state(str(folder), manifest | {"command": "bert-squad", "random_seed": 7}, False, None, TASK)
    assert str(caught.value).startswith(f"{folder}: holds a run of bert-tag; use another --output_dir to keep both")
    # A run from before its command was recorded is told by what differs, and goes on where nothing does.
    (folder / "run.json").write_text(json.dumps(values))
    assert find_state(str(folder), manifest | {"command": "bert-tag"}, False, None, TASK) is not None


def test_tokenizer_settings_are_written_and_owned(tmp_path, manifest, tiny_config):
    manifest |= {"tokenizer": {"strip_accents": False}}
    files = {"vocab.txt": b"[UNK]\n", "tokenizer_config.json": b"{}\n"}
    folder = tmp_path / "run"
    begin(str(folder), manifest, None, tiny_config(), files, {})
    assert {name: (folder / name).read_bytes() for name in files} == files
    assert "tokenizer_config.json" in json.loads((folder / "run.json").read_text())["files"]
    clear(str(folder))
    assert list(folder.iterdir()) == []
