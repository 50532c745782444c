"""Checks of files before anything is written."""

import os

import pytest

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
