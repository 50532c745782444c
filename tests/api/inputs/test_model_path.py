"""Search for a model by its path."""

import pathlib

import pytest

from bert_cli.api.inputs.model_path import find_model
from bert_cli.base.errors import InputError


def test_a_missing_model_is_an_error(tmp_path):
    with pytest.raises(InputError, match="nothing"):
        find_model(tmp_path / "nothing")


def test_home_directories_are_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in ("~/nothing", pathlib.Path("~/nothing")):
        with pytest.raises(InputError, match=f"{tmp_path}/nothing"):
            find_model(path)
