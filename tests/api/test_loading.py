"""Models as methods of Python find them."""

import pathlib

import pytest

from bert_cli.api.loading import find
from bert_cli.base.errors import InputError


def test_no_model(tmp_path):
    with pytest.raises(InputError, match="nothing"):
        find(tmp_path / "nothing")


def test_home_directories(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in ("~/nothing", pathlib.Path("~/nothing")):
        with pytest.raises(InputError, match=f"{tmp_path}/nothing"):
            find(path)
