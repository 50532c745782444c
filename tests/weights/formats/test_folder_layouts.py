"""Models in subdirectories, and models of other programs."""

import json

import pytest

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.weights.formats.folder_layouts import describe_other_model, inner_folder, is_keras_hub_bert
from bert_cli.weights.path import find_checkpoint
from tests.sentence_cases import folder_of


def cache(tmp_path, *hashes, current=""):
    """Return a directory as in the cache of Hugging Face's hub."""
    folder = tmp_path / "models--owner--name"
    for name in hashes:
        folder_of("mean", folder / "snapshots" / name)
    if current:
        (folder / "refs").mkdir()
        (folder / "refs" / "main").write_text(current)
    return folder


def test_the_current_snapshot_is_found(tmp_path):
    folder = cache(tmp_path, "aaa", "bbb", current="bbb")
    for path in (folder, folder / "snapshots", folder / "snapshots" / "bbb"):
        assert find_checkpoint(str(path)).location == str(folder / "snapshots" / "bbb")


def test_a_single_snapshot_needs_no_reference(tmp_path):
    folder = cache(tmp_path, "aaa")
    assert inner_folder(str(folder)) == str(folder / "snapshots" / "aaa")


def test_several_snapshots_without_a_reference_are_refused(tmp_path):
    folder = cache(tmp_path, "aaa", "bbb")
    with pytest.raises(
        InputError, match=r"holds 2 snapshots, and refs/main names none of them; give the directory of one"
    ):
        find_checkpoint(str(folder))
    (tmp_path / "empty" / "snapshots").mkdir(parents=True)
    with pytest.raises(InputError, match="holds no snapshot"):
        inner_folder(str(tmp_path / "empty"))


def test_the_encoder_in_an_older_directory_of_sentence_transformers(tmp_path):
    folder = tmp_path / "m"
    folder_of("mean", folder / "0_Transformer")
    for path, content in (("0_Transformer", True), ("../m", False), ("", False), ("missing", False)):
        (folder / "modules.json").write_text(
            json.dumps([{"path": path, "type": "sentence_transformers.models.Transformer"}])
        )
        assert inner_folder(str(folder)) == str(folder / "0_Transformer" if content else folder)


def test_a_directory_of_exports_is_named(tmp_path):
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "saved_model.pb").write_bytes(b"")
    assert describe_other_model(str(tmp_path)).startswith(
        "holds a SavedModel in 1; if bert-export wrote it, give the model"
    )


def test_a_preset_of_another_network_is_refused_after_one_look_at_its_directory(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text(
        json.dumps({"class_name": "GemmaBackbone", "module": "keras_hub.src.models.gemma"})
    )
    (tmp_path / "model.weights.h5").write_bytes(b"")
    list_directory, looks = files.list_directory, []
    monkeypatch.setattr(files, "list_directory", lambda path: looks.append(path) or list_directory(path))
    with pytest.raises(InputError, match="GemmaBackbone"):
        is_keras_hub_bert(str(tmp_path))
    assert looks == [str(tmp_path)]
