"""A damaged or malicious checkpoint index causes a message, not a crash."""

import pathlib
import struct

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.records.tfrecord import masked_crc32c
from bert_cli.weights.checkpoint import Tf1Reader
from bert_cli.weights.formats.checkpoint_index import read_index
from bert_cli.weights.formats.checkpoint_writer import write_tf1
from tests.snapshots import raises

MAGIC = 0xDB4775248B80FB57


def varint(value: int) -> bytes:
    encoded_bytes = []
    while value >= 128:
        encoded_bytes.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded_bytes, value])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def entry(shape=(2, 3), size=24, dtype=1, offset=0, shard=0, more=b"") -> bytes:
    """Return a BundleEntryProto."""
    dimensions = b"".join(field(2, field(1, dimension)) for dimension in shape)
    return field(1, dtype) + field(2, dimensions) + field(3, shard) + field(4, offset) + field(5, size) + more


def block(entries: list[tuple[bytes, bytes]]) -> bytes:
    encoded_entries = [varint(0) + varint(len(key)) + varint(len(value)) + key + value for key, value in entries]
    return b"".join(encoded_entries) + struct.pack("<II", 0, 1)


def table(entries, handle=None, compression=0) -> bytes:
    """Return a table with one block and correct checksums; `handle` replaces the block's handle."""

    def with_trailer(data: bytes, compression_type: int) -> bytes:
        body = data + bytes([compression_type])
        return body + masked_crc32c(body)

    first = with_trailer(block(entries), compression)
    listing = block([(b"z", handle or varint(0) + varint(len(first) - 5))])
    footer = (varint(0) + varint(0) + varint(len(first)) + varint(len(listing))).ljust(40, b"\0")
    return first + with_trailer(listing, 0) + footer + struct.pack("<Q", MAGIC)


HEADER = (b"", field(1, 1))


@pytest.fixture
def with_index(tmp_path):
    """Return a function that writes a checkpoint with this index and 24 bytes of data."""

    def make(data: bytes) -> str:
        (tmp_path / "model.ckpt.index").write_bytes(data)
        (tmp_path / "model.ckpt.data-00000-of-00001").write_bytes(bytes(24))
        return str(tmp_path / "model.ckpt")

    return make


def test_a_sound_index(with_index):
    read_index(with_index(table([HEADER, (b"a", entry())])))


def test_an_index_from_tensorflow(tmp_path):
    prefix = str(tmp_path / "model.ckpt-1")
    rng = np.random.default_rng(0)
    tensors = {f"bert/v{i}/kernel": rng.normal(size=(i % 7, 3)).astype(np.float32) for i in range(1500)}
    tensors |= {
        "step": np.int64(3),
        "texts": np.array([b"", b"x" * 300]),
        "flag": np.array([True]),
        "half": np.float16(2),
    }
    tensors["brain"] = tf.cast([1.0, 2.0], tf.bfloat16)
    tf.raw_ops.SaveV2(
        prefix=prefix, tensor_names=list(tensors), shape_and_slices=[""] * len(tensors),
        tensors=[tf.convert_to_tensor(values) for values in tensors.values()],
    )  # fmt: skip
    read_index(prefix)
    objects = str(tmp_path / "objects")
    tf.train.Checkpoint(variable=tf.Variable(np.ones((4, 3), np.float32))).write(objects)
    read_index(objects)


def test_a_partitioned_variable(tmp_path):
    prefix = str(tmp_path / "parts")
    tf.raw_ops.SaveV2(
        prefix=prefix, tensor_names=["a", "a"], shape_and_slices=["4 3 0,2:-", "4 3 2,2:-"],
        tensors=[tf.zeros([2, 3]), tf.ones([2, 3])],
    )  # fmt: skip
    read_index(prefix)


HUGE = 1 << 40
HOSTILE = {
    "a shape of petabytes": table([HEADER, (b"a", entry(shape=(HUGE, 1024)))]),
    "a size of petabytes": table([HEADER, (b"a", entry(shape=(HUGE, 1024), size=HUGE * 4096))]),
    "a dimension below 0": table([HEADER, (b"a", entry(shape=((1 << 64) - 1, 3)))]),
    "more than 63 bits": table([HEADER, (b"a", entry(shape=(HUGE, HUGE, 0), size=0))]),
    "300 dimensions": table([HEADER, (b"a", entry(shape=(1,) * 300, size=4))]),
    "behind the end": table([HEADER, (b"a", entry(offset=1))]),
    "another file": table([HEADER, (b"a", entry(shard=7))]),
    "texts without end": table([HEADER, (b"a", entry(shape=(HUGE,), dtype=7))]),
    "parts of petabytes": table([HEADER, (b"a", entry(shape=(HUGE, 9), size=0, more=field(7, b"")))]),
    "a block of petabytes": table([HEADER], handle=varint(0) + varint(1 << 50)),
    "compressed": table([HEADER], compression=1),
    "no message": table([HEADER, (b"a", b"\xff\xff")]),
    "no table": b"x" * 100,
    "empty": b"",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_index_is_one_line(with_index, name):
    prefix = with_index(HOSTILE[name])
    with raises(InputError, f"{prefix}: "):
        Tf1Reader(prefix)


@pytest.mark.parametrize("ending", [".index", ".data-00000-of-00001"])
def test_a_pointer_of_git_lfs_is_named(tmp_path, ending):
    prefix = str(tmp_path / "bert_model.ckpt")
    write_tf1(prefix, {"bert/w": np.zeros(900, np.float32)})
    pathlib.Path(prefix + ending).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    with raises(InputError, f"{ending}: "):
        Tf1Reader(prefix)
