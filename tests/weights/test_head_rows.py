"""A head with selected rows."""

import numpy as np
import pytest

from bert_cli.weights.checkpoint import read_weights
from bert_cli.weights.head_rows import HeadRowsReader


class MemoryReader:
    """Reader of values in memory."""

    description = "memory"
    unused = ("other",)

    def __init__(self, **values):
        self.values = {name: np.array(value, np.float32) for name, value in values.items()}
        self.shapes = {name: value.shape for name, value in self.values.items()}
        self.format_reader = self

    def read(self, name):
        return self.values[name]

    def check_tied(self):
        raise KeyError("tied")


@pytest.fixture
def reader():
    return MemoryReader(output_weights=[[1, 2], [3, 4], [5, 6]], output_bias=[7, 8, 9], pooler=[[10, 11], [12, 13]])


RANDOM = {"output_weights": np.array([[-1, -2], [-3, -4]], np.float32), "output_bias": np.zeros(2, np.float32)}


def test_rows_and_biases_follow_the_sources(reader):
    rows = HeadRowsReader(reader, (2, 0), RANDOM)
    assert rows.shapes == {"output_weights": (2, 2), "output_bias": (2,), "pooler": (2, 2)}
    assert rows.read("output_weights").tolist() == [[5, 6], [1, 2]]
    assert rows.read("output_bias").tolist() == [9, 7]
    assert rows.read("pooler").tolist() == [[10, 11], [12, 13]]
    assert (rows.description, rows.unused, rows.format_reader) == ("memory", ["other"], reader)
    with pytest.raises(KeyError, match="tied"):
        rows.check_tied()


def test_new_rows_have_random_values_and_a_row_may_be_used_twice(reader):
    assert HeadRowsReader(reader, (None, 1), RANDOM).read("output_weights").tolist() == [[-1, -2], [3, 4]]
    assert HeadRowsReader(reader, (None, 1), RANDOM).read("output_bias").tolist() == [0, 8]
    assert HeadRowsReader(reader, (1, 1), RANDOM).read("output_weights").tolist() == [[3, 4], [3, 4]]
    assert RANDOM["output_weights"].tolist() == [[-1, -2], [-3, -4]]


def test_without_any_row_there_is_no_head(reader):
    rows = HeadRowsReader(reader, (None, None), RANDOM)
    assert list(rows.shapes) == ["pooler"]
    assert rows.unused == ["other", "output_weights", "output_bias"]


def test_a_head_that_is_not_kept_is_no_unknown_weight(reader):
    """A model's own head was named as unknown, which was an error with --strict."""
    _, report = read_weights({"pooler": (2, 2)}, HeadRowsReader(reader, (None, None), RANDOM))
    assert sorted(report.unused) == ["other", "output_bias", "output_weights"]
    assert report.stored_only == ["other"]
