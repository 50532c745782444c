"""Randomly damaged files: readers return a result or raise InputError, in bounded time and memory."""

import pathlib
import random
import resource
import tempfile
import time

import pytest

from bert_cli.base.errors import InputError
from bert_cli.records.tfrecord import pack_records
from tests import fuzzing

FEW, MANY = 60, 100_000
SLOWEST = 20.0  # seconds for a small file, on a busy machine
MEMORY = 500 << 10  # KiB that a reader may need for small files
# The HDF5 library allocates the text length that a file declares in 4 bytes, and only then notices
# that the text is shorter.
MEMORY_OF_HDF5 = MEMORY + (4 << 20)
READERS = (
    "tsv", "own tsv", "own csv", "own jsonl", "own csv.gz", "conll", "tagging jsonl", "annotations",
    "annotations of Label Studio", "annotations of brat", "squad", "squad lines", "texts",
    "vocabulary", "config", "tokenizer.json", "tfrecord", "tfrecord messages", "corpus", "corpus.gz", "run folder: run.json",
    "run folder: run_report.json", "run folder: flags.txt", "run folder: checkpoint", "shards", "archive", "checkpoint index",
    "checkpoint data", "safetensors", "safetensors index", "tf_model.h5", "hdf5",
)  # fmt: skip
TOLERANT_READERS = ("run folder: run_report.json", "run folder: checkpoint")  # unreadable content is ignored


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    return fuzzing.fuzzed(tmp_path_factory.mktemp("sound"))


def test_all_readers_are_listed(fuzzed):
    assert {*fuzzed, "tfrecord messages"} == set(READERS)


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", READERS)
def test_damaged_files_give_a_result_or_an_input_error(name, count, fuzzed, tmp_path, monkeypatch):
    reader = fuzzed[name.removesuffix(" messages")]
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = tmp_path / reader.name
    for other_name, content in reader.others.items():
        (tmp_path / other_name).write_bytes(content)
    path.write_bytes(reader.sound[0])
    reader.read(str(path))  # the valid file is readable
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    messages = []
    for number in range(count):
        data = draw(name, reader, number)
        path.write_bytes(data)
        began = time.monotonic()
        try:
            reader.read(str(path))
        except InputError as error:
            messages.append(str(error))
        except BaseException:
            keep(path, name, number)
            raise
        assert time.monotonic() - began < SLOWEST, keep(path, name, number)
    assert messages or name in TOLERANT_READERS
    assert not any("{{node" in message for message in messages)  # a message by TensorFlow
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < (MEMORY_OF_HDF5 if name == "hdf5" else MEMORY)


def draw(name: str, reader: fuzzing.Fuzzed, number: int) -> bytes:
    draws = random.Random(f"{name} {number}")
    if name == "tfrecord messages":  # with correct checksums
        return pack_records([fuzzing.damage(fuzzing.record(), [fuzzing.record()], draws) or b"x"])
    return fuzzing.damage(draws.choice(reader.sound), reader.sound, draws)


def keep(path: pathlib.Path, name: str, number: int) -> str:
    """Print and return which input failed; draw(name, ..., number) makes it again."""
    text = f"{name}, input {number}: {path.read_bytes()[:300]!r}"
    print(text)
    return text
