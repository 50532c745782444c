"""Home directories in paths."""

import pathlib

import pytest

from bert_cli.base.errors import InputError
from bert_cli.flags.paths import expand_home, path_text


def test_home_directories(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.chdir(tmp_path)
    assert expand_home("~/a,b/~c,~", "--x") == "/home/someone/a,b/~c,/home/someone"
    assert expand_home("gs://bucket/~a", "--x") == "gs://bucket/~a"
    assert path_text(pathlib.Path("~/a")) == "/home/someone/a"
    with pytest.raises(
        InputError, match=r"^--x=~backup\.csv: ~backup\.csv is no home directory; write \./~backup\.csv"
    ):
        expand_home("~backup.csv", "--x=~backup.csv")
    (tmp_path / "~backup.csv").touch()
    assert expand_home("~backup.csv", "--x") == "~backup.csv"
    # A directory named ~, which an earlier version created, does not hide the home directory.
    (tmp_path / "~").mkdir()
    assert expand_home("~", "--x") == "/home/someone"
