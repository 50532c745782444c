"""TFRecord files and tf.train.Example messages, compared with TensorFlow's."""

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.records.example_proto import decode_example, encode_examples
from bert_cli.records.tfrecord import masked_crc32c, pack_records, read_records
from tests.snapshots import raises

RANDOM = np.random.default_rng(3)
COLUMNS = {
    "small": RANDOM.integers(0, 128, (5, 3)),
    "token_ids": RANDOM.integers(0, 30522, (5, 140)),
    "edges": np.array([[0, 1, 127, 128, 16383], [16384, 2097151, 2097152, 2**28 - 1, 2**28]] * 2 + [[5] * 5]),
    "huge": RANDOM.integers(2**40, 2**62, (5, 2)),
    "float": RANDOM.normal(size=(5, 4)).astype(np.float32),
    "one": np.arange(5)[:, None],
    "unsigned": RANDOM.integers(0, 60000, (5, 2)).astype(np.uint16),
}


def test_published_checksums():
    """Published CRC-32C checksums, after undoing TFRecord's mask (rotation and constant)."""
    checksums = {b"123456789": 0xE3069283, b"\0" * 32: 0x8A9136AA, b"\xff" * 32: 0x62A8AB43, b"a": 0xC1D04330}
    for data, expected in checksums.items():
        masked = (int.from_bytes(masked_crc32c(data), "little") - 0xA282EAD8) % 2**32
        assert hex((masked << 15 | masked >> 17) % 2**32) == hex(expected)


def test_encoded_examples_can_be_decoded():
    encoded = encode_examples(COLUMNS)
    assert len(encoded) == 5
    for row, data in enumerate(encoded):
        decoded = decode_example(data)
        assert list(decoded) == list(COLUMNS)
        for name, values in COLUMNS.items():
            assert decoded[name].dtype == (np.float32 if name == "float" else np.int64)
            assert decoded[name].tolist() == values[row].tolist()


def test_truncated_message_is_refused():
    data = encode_examples({"a": np.array([[300]])})[0]
    for length in range(1, len(data)):
        with pytest.raises(ValueError, match=r"the message ends inside|has no name"):
            decode_example(data[:length])


def test_tensorflow_reads_our_files(tmp_path):
    import tensorflow as tf

    path = str(tmp_path / "data.tfrecord")
    with open(path, "wb") as file:
        file.write(pack_records(encode_examples(COLUMNS)))
        file.write(pack_records(encode_examples({name: values[:2] for name, values in COLUMNS.items()})))
    records = [record.numpy() for record in tf.data.TFRecordDataset(path)]
    assert len(records) == 7
    for row, record in zip([0, 1, 2, 3, 4, 0, 1], records, strict=True):
        features = tf.train.Example.FromString(record).features.feature
        assert set(features) == set(COLUMNS)
        for name, values in COLUMNS.items():
            values_list = features[name].float_list if name == "float" else features[name].int64_list
            assert list(values_list.value) == values[row].tolist()


def test_files_are_byte_identical_to_tensorflow(tmp_path):
    import tensorflow as tf

    long = [RANDOM.integers(0, 256, size, dtype=np.uint8).tobytes() for size in (65536, 65537, 65539, 200_001)]
    records = [b"a", b"bc" * 5000, *long, *encode_examples(COLUMNS)]
    with tf.io.TFRecordWriter(str(tmp_path / "theirs")) as writer:
        for record in records:
            writer.write(record)
    (tmp_path / "ours").write_bytes(pack_records(records))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    assert list(read_records(str(tmp_path / "theirs"))) == records


def test_decode_examples_from_tensorflow():
    import tensorflow as tf

    features = {
        "ids": tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 300, 2**40, -1])),
        "weights": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, -2.0])),
        "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"skipped"])),
        "none": tf.train.Feature(int64_list=tf.train.Int64List()),
    }
    data = tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
    decoded = {name: values.tolist() for name, values in decode_example(data).items()}
    assert decoded == {"ids": [1, 300, 2**40, -1], "weights": [0.5, -2.0], "none": []}


def test_no_records():
    assert pack_records([]) == b""
    assert decode_example(b"") == {}


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:20],
        lambda data: data[:12],
        lambda data: data[:5],
        lambda data: data[:14] + b"x" + data[15:],
        lambda data: b"one sentence a line\n",
    ],
)
def test_damaged_files_are_refused(tmp_path, damage):
    path = tmp_path / "data.tfrecord"
    path.write_bytes(damage(pack_records([b"some data that is long enough"])))
    with raises(InputError, "data.tfrecord: "):
        list(read_records(str(path)))


@pytest.mark.parametrize("size", [12, 13, 14, 17])
def test_file_cut_after_a_record_header_is_refused(tmp_path, size):
    path = tmp_path / "cut"
    first = pack_records([b"one"])
    path.write_bytes(first + pack_records([b"two"])[:size])
    with raises(InputError, "cut: "):
        list(read_records(str(path)))


def test_impossible_record_length_is_refused(tmp_path):
    path = tmp_path / "claimed"
    length = (1 << 60).to_bytes(8, "little")
    path.write_bytes(length + masked_crc32c(length) + b"data")
    with pytest.raises(InputError, match=r"claimed: record 0 is damaged"):
        list(read_records(str(path)))


def test_empty_record_is_read(tmp_path):
    path = tmp_path / "empty"
    length = bytes(8)
    # The CRC of no data is 0, so the masked checksum is the constant itself.
    path.write_bytes(length + masked_crc32c(length) + 0xA282EAD8.to_bytes(4, "little"))
    assert list(read_records(str(path))) == [b""]
