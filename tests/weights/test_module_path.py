"""Modules in a config, which must be inside the config's directory."""

import os

import pytest

from bert_cli.base.errors import InputError
from bert_cli.weights.module_path import bundled_module, find_module, is_url
from tests.snapshots import raises


def test_a_module_inside_the_directory(tmp_path):
    config = str(tmp_path / "bert_config.json")
    assert bundled_module(config, "module/1") == str(tmp_path / "module" / "1")


@pytest.mark.parametrize("handle", ["", "../other", "module/../../other", "/etc", "https://tfhub.dev/x", "gs://b/x"])
def test_a_module_elsewhere_is_ignored(tmp_path, handle):
    assert bundled_module(str(tmp_path / "bert_config.json"), handle) is None


def test_a_link_that_leads_outside_is_ignored(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    os.symlink(tmp_path, folder / "module")
    assert bundled_module(str(folder / "bert_config.json"), "module") is None


def test_paths_without_a_module(tmp_path):
    assert is_url("https://tfhub.dev/x")
    assert not is_url("gs://bucket/x")
    with raises(InputError, "--hub_module"):
        find_module(str(tmp_path / "none"), "hub_module")
    with raises(InputError):
        find_module(str(tmp_path), "hub_module")
    (tmp_path / "x.tar.gz").write_bytes(b"\x1f\x8b\x08 no archive")
    with raises(InputError):
        find_module(str(tmp_path / "x.tar.gz"), "hub_module")
