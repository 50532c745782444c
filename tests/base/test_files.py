"""Checks of files before anything is written."""

import os

import pytest

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.files import check_filled, check_output_files, file_size, is_empty, is_stream


@pytest.fixture
def read(tmp_path) -> str:
    path = tmp_path / "input.txt"
    path.write_text("text\n")
    return str(path)


@pytest.mark.parametrize("make", [os.symlink, os.link, None])
def test_an_output_that_is_read(read, tmp_path, make):
    output = read if make is None else str(tmp_path / "output.txt")
    if make:
        make(read, output)
    with pytest.raises(InputError) as caught:
        check_output_files([output], [None, "-", read])
    assert str(caught.value) == f"{output}: would be written over, but it is read; check --output_file"


def test_a_remote_output_that_is_read():
    with pytest.raises(InputError, match=r"^gs://a/b: would be written over"):
        check_output_files(["gs://a/b"], ["gs://a/b"])


def test_what_names_no_file_is_no_output(read):
    check_output_files([None, "-"], [read])
    check_output_files([f"{read}.new"], [read, None])


def test_size(read, tmp_path):
    assert file_size(read) == 5
    assert file_size(str(tmp_path / "none")) == 0


def test_an_empty_file_is_refused_by_the_name_of_its_flag(read, tmp_path):
    empty = tmp_path / "empty.txt"
    empty.touch()
    check_filled(read, "dev_file")
    with pytest.raises(InputError) as caught:
        check_filled(str(empty), "dev_file")
    assert str(caught.value) == f"{empty}: is empty; check --dev_file"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_folders_and_missing_files_are_not_empty(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert not any(is_empty(str(path)) for path in (tmp_path / "pipe", tmp_path, tmp_path / "none", "-"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_streams(read, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    paths = tmp_path / "pipe", "-", read, tmp_path, tmp_path / "none", "gs://a/b"
    assert [is_stream(str(path)) for path in paths] == [True, True, False, False, False, False]


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0f\nsize 440449768\n"


@pytest.mark.parametrize("name", ["vocab.txt", "config.json", "bert_model.ckpt.index", "train.tsv", "tf_model.h5"])
@pytest.mark.parametrize("read", [files.read_bytes, files.open_binary, files.local])
def test_a_pointer_of_git_lfs_is_named(tmp_path, name, read):
    path = tmp_path / name
    path.write_text(POINTER)
    with pytest.raises(InputError) as caught:
        read(str(path))
    assert str(caught.value) == (
        f"{path}: is a pointer of Git LFS, not the file itself; run `git lfs install` and `git lfs pull` in its folder"
    )


@pytest.mark.parametrize("text", ["", "version", f"a line\n{POINTER}"])
def test_a_text_about_pointers_is_not_one(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with files.open_binary(str(path)) as file:
        assert file.read() == files.read_bytes(str(path)) == text.encode()
