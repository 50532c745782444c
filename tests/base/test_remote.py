"""Remote files: TensorFlow's in-memory file system replaces the cloud."""

import contextlib
import gzip
import io
import os

import numpy as np
import pytest

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.lines import find_inputs
from bert_cli.base.remote import _check_scheme, gfile
from bert_cli.base.writing import atomic_paths, atomic_write, copy_file, write_json
from bert_cli.corpus.text import read_blocks
from bert_cli.examples.tables import read_rows
from bert_cli.reading.source import Source
from bert_cli.records.tfrecord import RecordIndex, pack_records, read_records
from tests.snapshots import raises


@pytest.fixture
def ram(tmp_path) -> str:
    """An empty directory; all tests in a process share the file system."""
    from bert_cli.runtime.tensorflow_setup import setup_tensorflow

    setup_tensorflow()
    folder = f"ram://remote/{tmp_path.name}"
    files.make_directory(folder)
    return folder


def write(path: str, data: bytes) -> str:
    with atomic_write(path, "wb") as file:
        file.write(data)
    return path


def test_finding_and_removing(ram):
    paths = [write(f"{ram}/part-{n}.txt", b"x" * n) for n in range(3)]
    assert files.list_directory(ram) == ["part-0.txt", "part-1.txt", "part-2.txt"]
    assert find_inputs(f"{ram}/part-*.txt") == files.match(f"{ram}/part-*") == paths
    assert files.is_pattern(f"{ram}/part-*.txt")
    assert not files.is_pattern(paths[0])
    assert [files.file_size(path) for path in (*paths, f"{ram}/none")] == [0, 1, 2, 0]
    assert (files.exists(paths[0]), files.is_directory(ram), files.is_directory(paths[0])) == (True, True, False)
    assert files.mtime_ns(paths[1]) <= files.mtime_ns(paths[2])
    assert (files.make_absolute(ram), files.resolve(ram)) == (ram, ram)
    for path in paths:
        files.remove(path)
        files.remove(path)
    assert files.list_directory(ram) == files.list_directory(f"{ram}/none") == []
    with raises(InputError, "none.txt: "):
        files.check_readable(f"{ram}/none.txt", "input_file")
    with raises(InputError, "none.txt: "):
        files.read_bytes(f"{ram}/none.txt")


def test_remote_files_appear_complete(ram, tmp_path):
    path = f"{ram}/whole.txt"
    write(path, b"before")
    with contextlib.suppress(RuntimeError), atomic_write(path) as file:
        file.write("half")
        raise RuntimeError
    assert files.read_bytes(path) == b"before"
    with atomic_write(path) as file:
        file.write("é\n")
    assert files.read_bytes(path) == b"\xc3\xa9\n"
    write_json(f"{ram}/values.json", {"a": 1})
    with atomic_paths([path, f"{ram}/other"]) as hidden:
        for place in hidden:
            with open(place, "wb") as file:
                file.write(b"both")
    copy_file(path, str(tmp_path / "copy"))
    copy_file(str(tmp_path / "copy"), f"{ram}/third")
    assert files.read_bytes(f"{ram}/third") == b"both"
    assert files.list_directory(ram) == ["other", "third", "values.json", "whole.txt"]
    copy = files.make_local(path)
    with open(copy, "rb") as file:
        assert file.read() == b"both"
    assert files.make_local(str(tmp_path)) == str(tmp_path)


def test_all_readers_accept_remote_files(ram):
    lines = write(f"{ram}/lines.txt", "\ufeffa\né\n\nlast".encode())
    assert list(Source(lines).lines()) == ["a\n", "é\n", "\n", "last"]
    with files.open_binary(lines) as file:
        assert isinstance(file, io.BufferedReader)
        file.seek(-4, os.SEEK_END)
        assert (file.read(), file.tell()) == (b"last", files.file_size(lines))
    assert [row.cells for row in read_rows(Source(write(f"{ram}/t.tsv", b"1\tx\n2\ty z\n")))] == [
        ("1", "x"),
        ("2", "y z"),
    ]
    packed = write(f"{ram}/text.gz", gzip.compress(b"one\ntwo\n"))
    assert b"".join(block.data for block in read_blocks([packed, lines])).endswith(
        b"one\ntwo\n" + files.read_bytes(lines)
    )
    records = [b"first", b"s" * 9000, b"third"]
    path = write(f"{ram}/x.tfrecord", pack_records(records))
    assert list(read_records(path)) == records
    with RecordIndex([path]) as index:
        assert index.read([2, 0, 1]) == [b"third", b"first", b"s" * 9000]
    with atomic_write(f"{ram}/numbers.npy", "wb") as file:
        np.save(file, np.arange(7))
    with files.open_binary(f"{ram}/numbers.npy") as file:
        assert np.load(file).tolist() == list(range(7))
    with files.open_binary(f"{ram}/none") as file, pytest.raises(InputError, match="none: cannot be read"):
        file.read()


def test_remote_weights_in_every_format(ram, tmp_path):
    import h5py
    import safetensors.numpy

    from bert_cli.weights.checkpoint import Tf1Reader
    from bert_cli.weights.formats.checkpoint_index import check_data
    from bert_cli.weights.formats.checkpoint_writer import write_tf1
    from bert_cli.weights.h5_files import KerasReader
    from bert_cli.weights.hugging_face import HuggingFaceReader
    from bert_cli.weights.path import find_checkpoint

    bias = {"bert/pooler/dense/bias": np.arange(4, dtype=np.float32)}
    write_tf1(f"{ram}/model.ckpt-3", bias)
    check_data(f"{ram}/model.ckpt-3")
    assert find_checkpoint(f"{ram}/model.ckpt-3").location == f"{ram}/model.ckpt-3"
    write(f"{ram}/model.safetensors", safetensors.numpy.save({"bert.pooler.dense.bias": bias.popitem()[1]}))
    with h5py.File(tmp_path / "model.weights.h5", "w") as file:
        group = file.create_group("layers/pooler/vars")
        group.attrs["name"] = "bert_pooler_dense"
        group.create_dataset("0", data=np.ones((4, 4), np.float32))
        group.create_dataset("1", data=np.arange(4, dtype=np.float32))
    copy_file(str(tmp_path / "model.weights.h5"), f"{ram}/model.weights.h5")
    readers = (Tf1Reader(f"{ram}/model.ckpt-3"), HuggingFaceReader(ram), KerasReader(f"{ram}/model.weights.h5"))
    for reader in readers:
        assert reader.read("bert/pooler/dense/bias").tolist() == [0, 1, 2, 3]
        assert reader.description.startswith(ram)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/bert/uncased.zip",
        "http://example.org/encoder.tar.gz",
        "https://example.org/train.tsv",
        "https://huggingface.co/a/b",
        "https://tfhub.dev/a/bert/4",
        "https://example.org/CoLA.zip/train.tsv",
    ],
)
def test_web_address_is_refused_with_download_command(url):
    with raises(InputError, f"{url}: "):
        gfile(url)


def test_unsupported_file_system(ram):
    _check_scheme.cache_clear()
    for ask in (files.exists, files.is_directory, files.list_directory, files.read_bytes, files.open_binary):
        with raises(InputError, "nosuch://: "):
            ask("nosuch://bucket/file")
