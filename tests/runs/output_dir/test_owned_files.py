"""Files that a run owns, and files from other programs."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.runs.output_dir.manifest import read_report
from bert_cli.runs.output_dir.owned_files import FILES_OF_OLDER_RUNS, check_owned, owned_names, written_names


def write(folder, name, values) -> None:
    (folder / name).write_text(values if isinstance(values, str) else json.dumps(values))


def test_written_names_depend_on_the_manifest():
    names = written_names({"labels": ["a"], "vocabulary": None}, ["test_results.tsv"])
    assert "labels.txt" in names
    assert "vocab.txt" not in names
    assert names[-1] == "test_results.tsv"


@pytest.mark.parametrize("values", ["[]", "{", '{"a": 1}'])
def test_a_report_of_another_program_is_ignored(tmp_path, values):
    write(tmp_path, "run_report.json", values)
    assert read_report(str(tmp_path)) is None
    assert owned_names(str(tmp_path)) == set()


def test_manifest_and_report_list_owned_files(tmp_path):
    write(
        tmp_path,
        "run.json",
        {"config": {}, "files": ["flags.txt", "../outside", 7, "in/a", "in/..", "a/b/c", "/a", "in/"]},
    )
    write(tmp_path, "run_report.json", {"total_seconds": 1.0, "files": ["predictions.tsv"]})
    assert owned_names(str(tmp_path)) == {
        "flags.txt", "run.json", "checkpoint", "predictions.tsv", "run_report.json", "in/a",
    }  # fmt: skip


@pytest.mark.parametrize("values", ["{", {"config": {}}])
def test_a_run_without_list_owns_the_files_of_older_runs(tmp_path, values):
    write(tmp_path, "run.json", values)
    assert owned_names(str(tmp_path)) == set(FILES_OF_OLDER_RUNS) | {"run.json", "checkpoint"}


def test_files_of_other_programs_are_not_replaced(tmp_path):
    write(tmp_path, "run.json", {"config": {}, "files": ["flags.txt"]})
    for name in ("flags.txt", "predictions.tsv"):
        write(tmp_path, name, "x")
    check_owned(str(tmp_path), ["flags.txt", "eval_results.txt"])
    with pytest.raises(InputError, match=r"predictions\.tsv: would be written over, but no run of ours"):
        check_owned(str(tmp_path), ["flags.txt", "predictions.tsv"])


def test_a_directory_with_the_name_of_a_file_is_not_owned(tmp_path):
    write(tmp_path, "run.json", {"config": {}, "files": ["flags.txt", "best"]})
    (tmp_path / "best").mkdir()
    check_owned(str(tmp_path), ["best"])
    (tmp_path / "flags.txt").mkdir()
    with pytest.raises(InputError, match=r"flags\.txt: would be written over"):
        check_owned(str(tmp_path), ["flags.txt"])


def test_files_in_a_subdirectory_can_be_owned(tmp_path):
    write(tmp_path, "run.json", {"config": {}, "files": ["found/a.ann"]})
    (tmp_path / "found").mkdir()
    for name in ("a.ann", "b.ann"):
        write(tmp_path / "found", name, "x")
    check_owned(str(tmp_path), ["found/a.ann", "found/c.ann"])
    with pytest.raises(InputError, match=r"found/b\.ann: would be written over"):
        check_owned(str(tmp_path), ["found/b.ann"])
    write(tmp_path, "other", "x")
    with pytest.raises(InputError, match=r"other: is a file, a directory is needed; use another --output_dir"):
        check_owned(str(tmp_path), ["other/a.ann"])
