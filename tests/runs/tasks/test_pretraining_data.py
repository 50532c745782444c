"""Detection of text files and TFRecord files for pre-training."""

import os
import pathlib
import threading

import pytest

from bert_cli.base.errors import InputError
from bert_cli.records.tfrecord import pack_records
from bert_cli.runs.tasks.pretraining_data import find_files
from tests.snapshots import raises


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, data in (("e1", b""), ("e2", b""), ("text", b"one\n"), ("records", pack_records([b"x"]))):
        (tmp_path / name).write_bytes(data)
    return tmp_path


@pytest.mark.parametrize(
    ("patterns", "paths", "are_records"),
    [
        ("e1,records,e2", ["e1", "records", "e2"], True),
        ("records,e*", ["records", "e1", "e2"], True),
        ("e1,text", ["e1", "text"], False),
        ("text,-", ["text", "-"], False),
        ("records", ["records"], True),
    ],
)
def test_empty_files_fit_both_formats(folder, patterns, paths, are_records):
    assert find_files(patterns, "input_file") == (paths, are_records)


@pytest.mark.parametrize(
    ("patterns", "flag", "place"),
    [
        ("e1", "eval_file", "e1: "),
        ("e*", "input_file", "e1: "),
        ("e1,records,text", "input_file", "text: "),
        ("records,-", "eval_file", ""),
    ],
)
def test_empty_and_mixed_files_are_refused(folder, patterns, flag, place):
    with raises(InputError, place):
        find_files(patterns, flag)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_no_byte_of_a_pipe_is_lost(folder):
    os.mkfifo("pipe")
    writer = threading.Thread(target=pathlib.Path("pipe").write_bytes, args=[b"one\n"])
    writer.start()
    assert find_files("pipe,text", "input_file") == (["pipe", "text"], False)
    assert pathlib.Path("pipe").read_bytes() == b"one\n"
    writer.join()
