"""Checks that run before anything is written."""

import os
import shutil
import subprocess
import sys

import pytest

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.files import check_not_empty, check_output_files, file_size, is_empty, is_stream
from tests.snapshots import raises


@pytest.fixture
def read(tmp_path) -> str:
    path = tmp_path / "input.txt"
    path.write_text("text\n")
    return str(path)


@pytest.mark.parametrize("make", [os.symlink, os.link, None])
def test_output_must_not_be_an_input(read, tmp_path, make):
    output = read if make is None else str(tmp_path / "output.txt")
    if make:
        make(read, output)
    with raises(InputError, f"{output}: "):
        check_output_files([output], [None, "-", read])


def test_remote_output_must_not_be_an_input():
    with raises(InputError, "gs://a/b: "):
        check_output_files(["gs://a/b"], ["gs://a/b"])


def test_none_and_dash_are_not_checked_as_outputs(read):
    check_output_files([None, "-"], [read])
    check_output_files([f"{read}.new"], [read, None])


def test_file_size(read, tmp_path):
    assert file_size(read) == 5
    assert file_size(str(tmp_path / "none")) == 0


def test_check_not_empty_names_the_flag(read, tmp_path):
    empty = tmp_path / "empty.txt"
    empty.touch()
    check_not_empty(read, "dev_file")
    with raises(InputError, f"{empty}: "):
        check_not_empty(str(empty), "dev_file")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_folders_and_missing_files_are_not_empty(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert not any(is_empty(str(path)) for path in (tmp_path / "pipe", tmp_path, tmp_path / "none", "-"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_is_stream(read, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    paths = tmp_path / "pipe", "-", read, tmp_path, tmp_path / "none", "gs://a/b"
    assert [is_stream(str(path)) for path in paths] == [True, True, False, False, False, False]


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0f\nsize 440449768\n"


@pytest.mark.parametrize("name", ["vocab.txt", "config.json", "bert_model.ckpt.index", "train.tsv", "tf_model.h5"])
@pytest.mark.parametrize("read", [files.read_bytes, files.open_binary, files.make_local])
def test_git_lfs_pointer_is_refused(tmp_path, name, read):
    path = tmp_path / name
    path.write_text(POINTER)
    with raises(InputError, f"{path}: "):
        read(str(path))


@pytest.mark.parametrize("text", ["", "version", f"a line\n{POINTER}"])
def test_text_about_git_lfs_pointers_is_read(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with files.open_binary(str(path)) as file:
        assert file.read() == files.read_bytes(str(path)) == text.encode()


def run_without_privileges(code: str, folder) -> str:
    """Return a program's output if it runs without root's right to read everything."""
    command = [sys.executable, "-c", f"from bert_cli.base import files\n{code}"]
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("needs setpriv, as root reads every directory")
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    return done.stdout + done.stderr.strip().splitlines()[-1] if done.returncode else done.stdout


@pytest.mark.parametrize(
    ("mode", "call", "closed"),
    [
        (0o000, "exists('closed/a.txt')", True),
        (0o000, "is_directory('closed/inner')", True),
        (0o000, "list_directory('closed')", True),
        (0o600, "exists('closed/inner/deeper/a.txt')", True),
        (0o000, "match('closed/*.txt')", True),
        (0o000, "match('clo*/a.txt')", True),
        (0o300, "match('closed/*.txt')", True),
        (0o300, "match('closed/a.txt')", False),
        (0o300, "exists('closed/a.txt')", False),
        (0o000, "exists('closed')", False),
        (0o000, "match('open/*.txt')", False),
    ],
)
def test_unreadable_directory_is_not_taken_for_an_empty_one(mode, call, closed, tmp_path):
    for name in ("closed", "open"):
        (tmp_path / name / "inner").mkdir(parents=True)
        (tmp_path / name / "a.txt").touch()
    (tmp_path / "closed").chmod(mode)
    output = run_without_privileges(f"print(files.{call})", tmp_path)
    (tmp_path / "closed").chmod(0o700)
    assert ("PermissionError: [Errno 13] Permission denied: 'closed'" in output) == closed
    assert closed or "Error" not in output


@pytest.mark.parametrize("flag", ["output_dir", ""])
def test_a_directory_that_cannot_be_written_is_named_with_its_flag(tmp_path, monkeypatch, flag):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with raises(InputError, f"{tmp_path}: "):
        files.check_can_write(str(tmp_path / "new"), flag)
    (tmp_path / "file").touch()
    with raises(InputError, f"{tmp_path / 'file'}: "):
        files.check_can_write(str(tmp_path / "file"), flag)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_devices_and_named_pipes_are_refused(tmp_path):
    """They would be read forever, for example as the vocabulary of a third-party model."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name, reason in (("pipe", "is a named pipe"), ("zero", "is a device")):
        with pytest.raises(InputError, match=f"{name}: {reason}, a file is needed"):
            files.read_bytes(str(tmp_path / name))
    reader, writer = os.pipe()
    os.write(writer, b"content")
    os.close(writer)
    assert files.read_bytes(f"/dev/fd/{reader}") == b"content"
    os.close(reader)
    assert files.read_bytes(os.devnull) == b""
