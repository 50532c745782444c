"""Home directories in paths, and lists of files."""

import pathlib

import pytest

from bert_cli.base.errors import InputError
from bert_cli.flags.paths import expand_home, file_list_reader, path_text
from tests.snapshots import raises


def test_home_directories(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.chdir(tmp_path)
    assert expand_home("~/a,b/~c,~", "--x") == "/home/someone/a,b/~c,/home/someone"
    assert expand_home("gs://bucket/~a", "--x") == "gs://bucket/~a"
    assert path_text(pathlib.Path("~/a")) == "/home/someone/a"
    with raises(InputError, "--x=~backup.csv: "):
        expand_home("~backup.csv", "--x=~backup.csv")
    (tmp_path / "~backup.csv").touch()
    assert expand_home("~backup.csv", "--x") == "~backup.csv"
    # A directory named ~, which an earlier version created, does not hide the home directory.
    (tmp_path / "~").mkdir()
    assert expand_home("~", "--x") == "/home/someone"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.txt,b.txt,", "a.txt,b.txt"),
        (",a.txt", "a.txt"),
        ("a.txt,,b.txt, ", "a.txt,b.txt"),
        ("part-*.txt,", "part-*.txt"),
        ("a.txt, b.txt", "a.txt, b.txt"),
        ("-", "-"),
    ],
)
def test_empty_names_are_removed(text, expected):
    assert file_list_reader("input_file")(text) == expected


def test_a_file_name_may_end_in_a_comma(tmp_path):
    path = tmp_path / "a,"
    path.write_text("x")
    assert file_list_reader("input_file")(str(path)) == str(path)


@pytest.mark.parametrize("text", [",", " ,,"])
def test_commas_alone_name_no_file(text):
    with raises(InputError, f"--eval_file={text}: "):
        file_list_reader("eval_file")(text)
