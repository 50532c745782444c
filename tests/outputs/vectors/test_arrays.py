"""NumPy files, read back with NumPy."""

import errno
import io
import os
import zipfile

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.outputs.vectors.arrays import NpyFile, NpyWriter, NpzWriter, write_attention
from bert_cli.outputs.vectors.files import open_writer
from bert_cli.outputs.vectors.rows import FeatureRows, VectorFormat
from tests.snapshots import raises


def rows(first_line, counts, width=3, layers=1, **fields):
    total = sum(counts)
    values = (np.arange(total * layers * width) + 100 * first_line).reshape(total, layers, width).astype(np.float32)
    return FeatureRows(first_line, np.cumsum([0, *counts]), values, **fields)


@pytest.mark.parametrize("dtype", ["<f4", "<f2", "<i8"])
@pytest.mark.parametrize("shape", [(0, 4), (3, 4), (120, 2, 3), (5,)])
def test_an_array_written_in_parts_equals_one_array(dtype, shape):
    values, file = np.arange(np.prod(shape)).reshape(shape).astype(dtype), io.BytesIO()
    array = NpyFile(file, dtype, shape[1:])
    for start in range(0, shape[0], 50):
        array.append(values[start : start + 50])
    array.finish()
    whole = io.BytesIO()
    np.save(whole, values)
    assert file.getvalue() == whole.getvalue()
    file.seek(0)
    back = np.load(file)
    assert back.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(back, values, strict=True)


def test_vectors_of_lines():
    file = io.BytesIO()
    writer = NpyWriter(file, VectorFormat("line", (-1,), True, 3))
    batches = [rows(0, [1, 1]), rows(2, [1])]
    for batch in batches:
        writer.write(batch)
    writer.finish()
    file.seek(0)
    np.testing.assert_array_equal(np.load(file), np.concatenate([batch.values[:, 0] for batch in batches]))


def test_vectors_of_tokens_and_words(tmp_path):
    batches = [
        rows(0, [2, 0], layers=2, columns={"token": ["a", "b"], "token_id": np.int32([5, 6])}),
        rows(2, [1], layers=2, columns={"token": ["c"], "token_id": np.int32([7])}),
    ]
    file = io.BytesIO()
    writer = NpzWriter(file, VectorFormat("token", (-1, "embedding"), False, 3, "<f2"), str(tmp_path))
    for batch in batches:
        writer.write(batch)
    writer.finish()
    writer.close()
    file.seek(0)
    with np.load(file) as arrays:
        assert sorted(arrays) == ["layers", "offsets", "token_ids", "vectors"]
        assert arrays["layers"].tolist() == ["-1", "embedding"]
        assert arrays["offsets"].tolist() == [0, 2, 2, 3]
        assert arrays["token_ids"].tolist() == [5, 6, 7]
        np.testing.assert_array_equal(arrays["vectors"], np.concatenate([batch.values for batch in batches]))
    assert list(tmp_path.iterdir()) == []


def test_attention_of_each_line():
    file, values = io.BytesIO(), np.random.default_rng(0).random((2, 3, 2, 2)).astype(np.float32)
    with zipfile.ZipFile(file, "w") as archive:
        write_attention(archive, 4, [["[CLS]", "a"]], [values], "<f4")
    file.seek(0)
    with np.load(file) as arrays:
        np.testing.assert_array_equal(arrays["attention_4"], values)
        assert arrays["tokens_4"].tolist() == ["[CLS]", "a"]


def test_a_full_disk_while_an_npz_file_is_written(tmp_path):
    """Temporary files have no names and are gone when the error is reported."""
    form = VectorFormat("token", (-1,), False, 3)

    def write():
        with open_writer(str(tmp_path / "v.npz"), "npz", form) as writer:
            writer.write(rows(0, [400_000]))
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with raises(InputError, "v.npz: "):
        write()
    assert list(tmp_path.iterdir()) == []
