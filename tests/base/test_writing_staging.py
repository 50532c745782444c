"""Results of several files that appear together, local and remote."""

import errno
import os

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.writing import publish_file, publish_folder, staging_folder
from tests.snapshots import raises


def test_staging_folder_is_next_to_a_missing_folder(tmp_path):
    with staging_folder(str(tmp_path / "not" / "yet")) as staged:
        assert os.path.dirname(staged) == str(tmp_path)
        assert os.path.basename(staged).startswith(".writing-")
    assert list(tmp_path.iterdir()) == []


def test_publish_file_makes_the_target_directory(tmp_path):
    (tmp_path / "staged").write_text("new")
    publish_file(str(tmp_path / "staged"), str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").read_text() == "new"
    (tmp_path / "folder").mkdir()
    (tmp_path / "staged").write_text("newer")
    with raises(InputError, "folder: "):
        publish_file(str(tmp_path / "staged"), str(tmp_path / "folder"))


def test_publish_folder_replaces_the_old_one(tmp_path):
    for name in ("staged", "model"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"of_{name}").touch()
    publish_folder(str(tmp_path / "staged"), str(tmp_path / "model"), last="saved_model.pb")
    assert os.listdir(tmp_path / "model") == ["of_staged"]


def test_publish_folder_to_a_remote_place(tmp_path):
    """Old files in TensorFlow's memory are removed, and subdirectories are kept."""
    import tensorflow as tf

    staged = tmp_path / "export"
    (staged / "encoder" / "assets").mkdir(parents=True)
    (staged / "encoder" / "saved_model.pb").write_bytes(b"new")
    (staged / "encoder" / "assets" / "vocab.txt").write_bytes(b"words")
    tf.io.gfile.makedirs("ram://export-test/model")
    with tf.io.gfile.GFile("ram://export-test/model/saved_model.pb", "wb") as file:
        file.write(b"old")
    publish_folder(str(staged), "ram://export-test/model", last="saved_model.pb")
    assert tf.io.gfile.listdir("ram://export-test/model") == ["encoder"]
    for name, content in (("saved_model.pb", b"new"), ("assets/vocab.txt", b"words")):
        with tf.io.gfile.GFile(f"ram://export-test/model/encoder/{name}", "rb") as file:
            assert file.read() == content


def test_full_disk_in_a_staging_folder(tmp_path):
    """A library writes there, and its error does not name a file."""

    def write():
        with staging_folder(str(tmp_path)) as staged:
            os.mkdir(os.path.join(staged, "model"))
            with open(os.path.join(staged, "model", "weights.bin"), "wb") as file:
                file.write(b"0" * 1_500_000)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with raises(InputError, f"{tmp_path}: "):
        write()
    assert list(tmp_path.iterdir()) == []


def test_other_errors_in_a_staging_folder_are_unchanged(tmp_path):
    with pytest.raises(OSError, match="Input/output error"), staging_folder(str(tmp_path)):
        raise OSError(errno.EIO, os.strerror(errno.EIO))
