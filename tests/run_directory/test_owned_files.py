"""Files that a run owns, and files from other programs."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.run_directory.owned_files import OwnedFiles, run_file_names
from tests.snapshots import raises


def write(folder, name, values) -> None:
    (folder / name).write_text(values if isinstance(values, str) else json.dumps(values))


def test_written_names_depend_on_the_manifest():
    names = run_file_names({"labels": ["a"], "vocabulary": None}, ["test_results.tsv"])
    assert "labels.txt" in names
    assert "vocab.txt" not in names
    assert names[-1] == "test_results.tsv"


@pytest.mark.parametrize("values", ["[]", "{", '{"a": 1}'])
def test_a_report_of_another_program_is_ignored(tmp_path, values):
    write(tmp_path, "run_report.json", values)
    assert OwnedFiles(str(tmp_path)).read_report() is None
    assert OwnedFiles(str(tmp_path)).names() == set()


def test_manifest_and_report_list_owned_files(tmp_path):
    write(
        tmp_path,
        "run.json",
        {"config": {}, "files": ["flags.txt", "../outside", 7, "in/a", "in/..", "a/b/c", "/a", "in/"]},
    )
    write(tmp_path, "run_report.json", {"total_seconds": 1.0, "files": ["predictions.tsv"]})
    assert OwnedFiles(str(tmp_path)).names() == {
        "flags.txt", "run.json", "checkpoint", "predictions.tsv", "run_report.json", "in/a",
    }  # fmt: skip


def test_a_damaged_list_has_the_usual_files(tmp_path):
    write(tmp_path, "run.json", "{")
    names = OwnedFiles(str(tmp_path)).names()
    assert {"run.json", "checkpoint", "flags.txt", "labels.txt", "vocab.txt", "test_results.tsv"} <= names
    write(tmp_path, "run.json", {"config": {}})
    assert OwnedFiles(str(tmp_path)).names() == {"run.json", "checkpoint"}


def test_files_of_other_programs_are_not_replaced(tmp_path):
    write(tmp_path, "run.json", {"config": {}, "files": ["flags.txt"]})
    for name in ("flags.txt", "predictions.tsv"):
        write(tmp_path, name, "x")
    OwnedFiles(str(tmp_path)).check(["flags.txt", "eval_results.txt"])
    with raises(InputError, "predictions.tsv: "):
        OwnedFiles(str(tmp_path)).check(["flags.txt", "predictions.tsv"])


def test_a_directory_with_the_name_of_a_file_is_not_owned(tmp_path):
    write(tmp_path, "run.json", {"config": {}, "files": ["flags.txt", "best"]})
    (tmp_path / "best").mkdir()
    OwnedFiles(str(tmp_path)).check(["best"])
    (tmp_path / "flags.txt").mkdir()
    with raises(InputError, "flags.txt: "):
        OwnedFiles(str(tmp_path)).check(["flags.txt"])


def test_files_in_a_subdirectory_can_be_owned(tmp_path):
    write(tmp_path, "run.json", {"config": {}, "files": ["found/a.ann"]})
    (tmp_path / "found").mkdir()
    for name in ("a.ann", "b.ann"):
        write(tmp_path / "found", name, "x")
    OwnedFiles(str(tmp_path)).check(["found/a.ann", "found/c.ann"])
    with raises(InputError, "found/b.ann: "):
        OwnedFiles(str(tmp_path)).check(["found/b.ann"])
    write(tmp_path, "other", "x")
    with raises(InputError, "other: "):
        OwnedFiles(str(tmp_path)).check(["other/a.ann"])


def test_a_run_json_of_another_program_is_not_a_manifest(tmp_path):
    assert OwnedFiles(str(tmp_path)).read_manifest() is None
    (tmp_path / "run.json").write_text('{"config": 7}')
    assert OwnedFiles(str(tmp_path)).read_manifest() is None


def test_a_damaged_manifest_is_an_error(tmp_path):
    (tmp_path / "run.json").write_text('{"config": ')
    with pytest.raises(InputError, match=r"run\.json.*restore it"):
        OwnedFiles(str(tmp_path)).read_manifest()
