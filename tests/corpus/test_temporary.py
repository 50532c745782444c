"""Temporary directories for tokenized texts, and their removal after a SIGKILL."""

import logging
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import pytest

from bert_cli.corpus.temporary import corpus_directory

_PROGRAM = """
import pathlib, sys
from bert_cli.corpus.temporary import corpus_directory
with corpus_directory() as folder:
    pathlib.Path(folder, "token_ids").write_bytes(b"secret")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Let this process and its children use a separate directory for temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


@pytest.fixture
def start():
    """Return a function that starts a process with such a directory."""
    processes = []

    def start_process():
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        processes.append(process)
        return process, pathlib.Path(process.stdout.readline().strip())

    yield start_process
    for process in processes:
        process.kill()
        process.communicate()


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_next_start_removes_directories_of_killed_processes(temporary, start, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("bert_cli"), "propagate", True)
    killed, left = start()
    _, used = start()
    kill(killed)
    assert (left / "token_ids").exists()
    with caplog.at_level(logging.INFO, "bert_cli"), corpus_directory() as folder:
        assert not left.exists()
        assert (used / "token_ids").read_bytes() == b"secret"
        assert pathlib.Path(folder).parent == temporary
        # This process is alive, too.
        with corpus_directory():
            assert os.path.isdir(folder)
    assert not os.path.exists(folder)
    assert {record.getMessage().partition(":")[0] for record in caplog.records} == {f"removed {left}"}


def test_other_directories_stay(temporary, start, monkeypatch):
    killed, left = start()
    kill(killed)
    (temporary / "bert_cli-corpus-mine").mkdir()
    (temporary / "bert_cli-corpus-file").write_text("")
    (temporary / "bert_cli-corpus-link").symlink_to(left)
    (temporary / "bert_cli-other").mkdir()
    (temporary / "bert_cli-other" / "lock").write_text("")
    names = {path.name for path in temporary.iterdir()}
    user = os.geteuid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: user + 1)
        with corpus_directory():
            pass
    assert {path.name for path in temporary.iterdir()} == names
    with corpus_directory():
        pass
    assert {path.name for path in temporary.iterdir()} == names - {left.name}


def test_directory_without_locks_is_made_and_removed(temporary, monkeypatch):
    def refuse(descriptor, operation):
        raise OSError("no locks")

    monkeypatch.setattr("fcntl.flock", refuse)
    with corpus_directory() as folder, corpus_directory():
        assert os.path.isdir(folder)
    assert list(temporary.iterdir()) == []
