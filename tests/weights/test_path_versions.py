"""Versions of checkpoint files."""

import os

from bert_cli.weights.path import file_version


def test_versions_have_all_files_of_a_prefix(tmp_path):
    for name in ("model.ckpt-1.index", "model.ckpt-1.data-00000-of-00001", "model.ckpt-10.index"):
        (tmp_path / name).write_bytes(b"ab")
        os.utime(tmp_path / name, ns=(5, 7))
    assert file_version(f"{tmp_path}/model.ckpt-1") == [
        (f"{tmp_path}/model.ckpt-1.data-00000-of-00001", 2, 7),
        (f"{tmp_path}/model.ckpt-1.index", 2, 7),
    ]


def test_versions_of_a_directory_with_special_characters(tmp_path):
    folder = tmp_path / "a[1]"
    folder.mkdir()
    before = file_version(str(folder))
    (folder / "model.safetensors").write_bytes(b"a")
    os.utime(folder / "model.safetensors", ns=(5, 9))
    assert before == []
    assert file_version(str(folder)) == [(f"{folder}/model.safetensors", 1, 9)]
