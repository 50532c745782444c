"""Values of bert-serve's flags."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.settings.serving import read_models, read_origins, read_root_path
from tests.snapshots import raises


def test_home_directories_of_served_models(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    assert read_models("a=~/a\nb=b/~") == (("a", "/home/someone/a"), ("b", "b/~"))


def test_origins():
    assert read_origins("") == ()
    assert read_origins("https://A.example, http://localhost:3000,*") == (
        "https://a.example",
        "http://localhost:3000",
        "*",
    )


@pytest.mark.parametrize(
    "origin", ["a.example", "https://a.example/", "ftp://a", "https://", "https://*.a.example", "null"]
)
def test_wrong_origins_are_refused(origin):
    with raises(InputError):
        read_origins(f"http://b,{origin}")


def test_root_paths():
    assert [read_root_path(text) for text in ("", "/", "/bert", "/a/b/")] == ["", "", "/bert", "/a/b"]


@pytest.mark.parametrize("text", ["bert", "//bert", "https://a/bert", "/a b", "/a?b", "/a//b"])
def test_wrong_root_paths_are_refused(text):
    with raises(InputError):
        read_root_path(text)
