"""Groups and weights of rows in a table."""

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.reading.columns.roles import TableColumns
from bert_cli.reading.columns.row_values import normalize_weights, read_group, read_weight
from bert_cli.reading.rows import Row
from tests.snapshots import raises

COLUMNS = TableColumns(3, ("text", "patient", "votes"), 0, None, (), None, group=1, weight=2)
NO_COLUMNS = TableColumns(3, ("text", "patient", "votes"), 0, None, (), None)


def test_values_of_a_row():
    row = Row(7, ["a", " p1 ", " 1e-1 "])
    assert (read_group("t.csv", row, COLUMNS), read_weight("t.csv", row, COLUMNS)) == ("p1", 0.1)
    assert (read_group("t.csv", row, NO_COLUMNS), read_weight("t.csv", row, NO_COLUMNS)) == (None, None)
    assert read_weight("t.csv", Row(7, ["a", "b", "0"]), COLUMNS) == 0
    with raises(InputError, "t.csv:7: the group from 'patient' is empty"):
        read_group("t.csv", Row(7, ["a", " ", "1"]), COLUMNS)


@pytest.mark.parametrize("cell", ["", "-1", "nan", "inf", "many", "0,5"])
def test_refused_weights(cell):
    with raises(InputError, "t.csv:7: the weight from 'votes' is "):
        read_weight("t.csv", Row(7, ["a", "b", cell]), COLUMNS)


def test_weights_have_a_mean_of_1():
    assert normalize_weights("t.csv", "votes", [0.0, 1.0, 3.0, 4.0]) == [0.0, 0.5, 1.5, 2.0]
    weights = np.linspace(0.1, 1.7, 24)
    expected = (weights / weights.mean()).astype(np.float32)
    np.testing.assert_array_equal(np.array(normalize_weights("t", "w", weights.tolist()), np.float32), expected)
    with raises(InputError, "t.csv: every weight from 'votes' is 0"):
        normalize_weights("t.csv", "votes", [0.0, 0.0])
