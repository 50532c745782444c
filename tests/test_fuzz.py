"""Files that were damaged in any way: each reader gives a result or an InputError, soon and in bounded memory."""

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
SLOWEST = 20.0  # seconds for one small file, on a busy machine
MEMORY = 500 << 10  # KiB that a reader may need for small files
# The HDF5 library takes as much for a text as the file says that it has, in 4 bytes, and only then sees that it has less.
MEMORY_OF_HDF5 = MEMORY + (4 << 20)
READERS = (
    "tsv", "own tsv", "own csv", "own jsonl", "own csv.gz", "conll", "tagging jsonl", "annotations",
    "annotations of Label Studio", "annotations of brat", "squad", "squad lines", "texts",
    "vocabulary", "config", "tokenizer.json", "tfrecord", "tfrecord messages", "corpus", "corpus.gz", "run folder: run.json",
    "run folder: run_report.json", "run folder: flags.txt", "run folder: checkpoint", "shards", "archive", "checkpoint index",
    "checkpoint data", "safetensors", "safetensors index", "tf_model.h5", "hdf5",
)  # fmt: skip
PASSED_OVER = ("run folder: run_report.json", "run folder: checkpoint")  # what cannot be read of them is done without


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    return fuzzing.fuzzed(tmp_path_factory.mktemp("sound"))


def test_every_reader_is_in_the_list(fuzzed):
    assert {*fuzzed, "tfrecord messages"} == set(READERS)


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", READERS)
def test_a_result_or_an_input_error(name, count, fuzzed, tmp_path, monkeypatch):
    reader = fuzzed[name.removesuffix(" messages")]
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = tmp_path / reader.name
    for other, content in reader.others.items():
        (tmp_path / other).write_bytes(content)
    path.write_bytes(reader.sound[0])
    reader.read(str(path))  # what is sound is read
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = []
    for number in range(count):
        data = draw(name, reader, number)
        path.write_bytes(data)
        began = time.monotonic()
        try:
            reader.read(str(path))
        except InputError as error:
            said.append(str(error))
        except BaseException:
            keep(path, name, number)
            raise
        assert time.monotonic() - began < SLOWEST, keep(path, name, number)
    assert said or name in PASSED_OVER
    assert not any("{{node" in message for message in said)  # TensorFlow's own text
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < (MEMORY_OF_HDF5 if name == "hdf5" else MEMORY)


def draw(name: str, reader: fuzzing.Fuzzed, number: int) -> bytes:
    draws = random.Random(f"{name} {number}")
    if name == "tfrecord messages":  # whose checksums are right
        return pack_records([fuzzing.damaged(fuzzing.record(), [fuzzing.record()], draws) or b"x"])
    return fuzzing.damaged(draws.choice(reader.sound), reader.sound, draws)


def keep(path: pathlib.Path, name: str, number: int) -> str:
    """Say which input it was: draw(name, ..., number) makes it again."""
    said = f"{name}, input {number}: {path.read_bytes()[:300]!r}"
    print(said)
    return said
