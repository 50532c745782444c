"""Random access to the records of several files, and errors that name damaged ones."""

import gzip

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.records.tfrecord import RecordIndex, is_record_file, pack_records
from tests.snapshots import raises


@pytest.fixture
def two_files(tmp_path):
    """Return paths to two files (one has a record longer than a read block), and all their records."""
    rng = np.random.default_rng(4)
    records_per_file = [
        [b"a", b"bc", b"def"],
        [rng.integers(0, 256, size, dtype=np.uint8).tobytes() for size in (9, 5_000_000, 7)],
    ]
    paths = [str(tmp_path / "one"), str(tmp_path / "two")]
    for path, records in zip(paths, records_per_file, strict=True):
        with open(path, "wb") as file:
            file.write(pack_records(records))
    return paths, records_per_file[0] + records_per_file[1]


def test_records_are_read_in_any_order(two_files):
    paths, records = two_files
    with RecordIndex(paths) as index:
        assert len(index) == 6
        numbers = [5, 0, 3, 3, 4, 2]
        assert index.read(numbers) == [records[number] for number in numbers]
        assert index.place(3) == f"{paths[1]}: record 0"
        assert index.read([]) == []


def test_digest_differs_for_different_files(two_files, tmp_path):
    paths, records = two_files
    with RecordIndex(paths) as index, RecordIndex(paths[::-1]) as other_index:
        assert index.digest != other_index.digest
    changed = tmp_path / "changed"
    changed.write_bytes(pack_records([*records[:2], b"dxf"]))
    with RecordIndex(paths[:1]) as index, RecordIndex([str(changed)]) as other_index:
        assert index.digest != other_index.digest


def test_is_record_file(two_files, tmp_path):
    paths, _ = two_files
    assert all(map(is_record_file, paths))
    for name, data in {
        "text": b"a text of some length\n",
        "empty": b"",
        "packed": gzip.compress(b"a text" * 9, mtime=0),
    }.items():
        (tmp_path / name).write_bytes(data)
        assert not is_record_file(str(tmp_path / name))
    with open(paths[0], "rb") as file:
        (tmp_path / "packed").write_bytes(gzip.compress(file.read()))
    with raises(InputError, "packed: "):
        is_record_file(str(tmp_path / "packed"))


def test_truncated_file_is_refused(tmp_path):
    data = pack_records([b"abc", b"defgh"])
    path = tmp_path / "cut"
    for length in [*range(1, 19), *range(20, len(data))]:  # a cut after 19 bytes leaves one whole record
        path.write_bytes(data[:length])
        with pytest.raises(InputError, match=r"cut: record [01] is"):
            RecordIndex([str(path)])


def test_wrong_byte_is_refused_when_its_record_is_read(tmp_path):
    data = bytearray(pack_records([b"abc", b"defgh"]))
    data[-6] ^= 1
    path = tmp_path / "wrong"
    path.write_bytes(data)
    with RecordIndex([str(path)]) as index:
        assert index.read([0]) == [b"abc"]
        with pytest.raises(InputError, match=r"wrong: record 1 is damaged"):
            index.read([0, 1])
